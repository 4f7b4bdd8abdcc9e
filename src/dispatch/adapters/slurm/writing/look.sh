# Read what a cluster is.
section missing
for command in sbatch squeue scontrol scancel timeout; do
  command -v "$command" >/dev/null || printf '%s\n' "$command"
done
section "rc 0"
run version sbatch --version
run config scontrol show config
run federation scontrol show federation

# Which object: its id, and our key, without which the id proves nothing.
id=$1 name=$2 submission=$3 attempt=$4 base=$5
shift 5
show before || exit 0
ours() {
  [ "$(field JobName)" = "$name" ] || return 1
  case "$(comment) " in
    "dispatch/1 "*" n=$submission a=$attempt base=$base "*) return 0 ;;
    *) return 1 ;;
  esac
}
if ! ours; then
  section foreign
  exit 0
fi

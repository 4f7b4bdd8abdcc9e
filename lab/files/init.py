"""Process 1 of an instance: reaps orphans, and ends (and with it the whole instance) when the owner ends.

init.py OWNER-FD READY-FD: the owner's pidfd, or -1 for an instance that is nobody's.
"""

import os
import select
import signal
import sys

owner, ready = int(sys.argv[1]), int(sys.argv[2])
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps what is left to us
signal.signal(signal.SIGINT, signal.SIG_IGN)
os.write(ready, b"1")
os.close(ready)
poll = select.poll()
if owner >= 0:
    poll.register(owner, select.POLLIN)
poll.poll()

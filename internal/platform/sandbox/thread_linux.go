package sandbox

import (
	"os"

	"golang.org/x/sys/unix"
)

func onMainThread() bool { return unix.Gettid() == os.Getpid() }

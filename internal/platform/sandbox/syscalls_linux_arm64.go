package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// foreignTable has nothing to deny: 32-bit programs have another architecture.
func foreignTable() program { return nil }

// forkCalls are none: this architecture starts processes by clone alone.
var forkCalls []uint32

// addOldCalls adds nothing: this architecture has the forms with a folder only.
func addOldCalls(map[uint32]changeCall) {}

// addOldFileCalls adds nothing either.
func addOldFileCalls(map[uint32]fileCall) {}

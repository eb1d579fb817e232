// Package stretch makes keys of passwords with Argon2id, and bounds the memory that this takes in
// the process: whoever asks, two keys are made at a time, and the memory of one is given back
// before the next one begins. Without that the garbage of some sign-ins would be
// several hundred MB, as the collector waits until the heap has doubled.
package stretch

import (
	"runtime/debug"

	"golang.org/x/crypto/argon2"
)

const (
	most  = 2
	large = 16 << 10 // KiB; less isn't worth a collection
)

// slots holds those that are made now. It is the process's, as the memory is.
var slots = make(chan struct{}, most)

// Key makes a key of size bytes. It takes memory KiB and waits until others are made; callers
// bound how many wait.
func Key(password, salt []byte, time, memory uint32, lanes uint8, size uint32) []byte {
	slots <- struct{}{}
	defer func() { <-slots }()
	key := argon2.IDKey(password, salt, time, memory, lanes, size)
	if memory >= large {
		debug.FreeOSMemory()
	}
	return key
}

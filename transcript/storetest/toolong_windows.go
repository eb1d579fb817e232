package storetest

import "testing"

// tooLong is nil here: 2 GB of addresses cannot be had without the memory.
func tooLong(*testing.T) []byte { return nil }

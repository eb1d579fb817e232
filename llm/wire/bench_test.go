package wire_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// BenchmarkCalibration is a fixed piece of work. The times of all other
// benchmarks are compared relative to it, so that a slower machine is not
// mistaken for slower code.
func BenchmarkCalibration(b *testing.B) {
	data := []byte("[" + strings.Repeat(`{"type":"delta","index":3,"text":"some words"},`, 500) + "0]")
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if !json.Valid(data) {
			b.Fatal("not valid")
		}
	}
}

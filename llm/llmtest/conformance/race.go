//go:build race

package conformance

// raceEnabled makes the long measurements shorter: with the detector on they
// take ten times as long and figures mean little.
const raceEnabled = true

// stride is the distance of the bytes at which answers are cut and damaged.
// Races do not depend on the byte.
func stride() int { return 7 }

//go:build !unix

package document_test

import "time"

var began = time.Now()

// spent is the clock's time where the processor's is not known.
func spent() time.Duration { return time.Since(began) }

package compact

import (
	"time"

	"github.com/burin-dev/burin/llm"
)

// Cache is what is known of the provider's prompt cache and of the session that uses it.
type Cache struct {
	Price  llm.Price // where it is not known, writing costs 1.25 and reading 0.1 of fresh input
	Prompt int       // tokens of the last prompt: long ones may have a price of their own
	// Requests is how many more are expected with what is in the context now. 0 is 5.
	Requests int
	Idle     time.Duration // since the last request
	Life     time.Duration // of the cache when nobody uses it; 0 is five minutes
	Full     bool          // the window needs the room, whatever it costs
}

const (
	expectedRequests = 5
	cacheLife        = 5 * time.Minute
	writeFactor      = 1.25 // of the price of input
	readFactor       = 0.1
)

// free reports whether a prune costs nothing, or has to be.
func (c Cache) free() bool {
	life := c.Life
	if life <= 0 {
		life = cacheLife
	}
	return c.Full || c.Idle >= life
}

// gain is what a prune gains, in dollars per million tokens or, where no price is
// known, in those of input. saved is how many tokens it takes out of each request from
// now on; after is how many stand behind the first place that it changes, as they are
// once it is done.
//
// A provider's cache holds a prompt up to the first byte that differs. Let S be saved,
// A be after, r the price of reading a token from the cache, w that of writing it,
// and N the number of requests to come. Left alone, each of them reads S+A tokens.
// With the prune, the first writes A and the others read A. The prune therefore gains
//
//	N·S·r - A·(w-r)
//
// Providers who charge nothing for writing still charge what is not cached as input, so w
// is never below that. If the cache is cold, which it is when nobody used it for its
// life, the next request writes everything anyway: then any saving pays, as it does
// where the window needs the room.
func (c Cache) gain(saved, after int) float64 {
	read, write := c.rates()
	n := c.Requests
	if n <= 0 {
		n = expectedRequests
	}
	return float64(n)*float64(saved)*read - float64(after)*max(write-read, 0)
}

func (c Cache) rates() (read, write float64) {
	in, r, w := c.Price.Input, c.Price.CacheRead, c.Price.CacheWrite
	for _, s := range c.Price.Steps {
		if c.Prompt > s.Above {
			in, r, w = s.Input, s.CacheRead, s.CacheWrite
		}
	}
	input := in.Dollars()
	if input <= 0 { // unknown, or free: then what counts is the work, which has the same shape
		return readFactor, writeFactor
	}
	read, write = input*readFactor, input*writeFactor
	if r.Known() {
		read = r.Dollars()
	}
	if w.Known() {
		write = max(w.Dollars(), input)
	}
	return read, write
}

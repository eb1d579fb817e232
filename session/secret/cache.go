package secret

import (
	"hash/maphash"
	"sync"
)

// cache remembers which texts were hidden and how, so that of a long history only
// what is new is searched. A text is known by its length and a 64-bit hash with a
// seed of this process. It holds two generations; when the younger is full the
// older is forgotten.
type cache struct {
	mu         sync.Mutex
	seed       maphash.Seed
	age        uint64
	young, old map[cacheKey]string
	bytes      int
}

type cacheKey struct {
	hash uint64
	size int
	json bool
}

// Limits of one generation, and the least length of a text worth a place.
const (
	cacheEntries = 16 << 10
	cacheBytes   = 8 << 20 // of hidden texts; texts without secrets are not held
	cacheLeast   = 64
)

// hideOnce is Hide, or hideJSON, with the cache before it.
func (v *Vault) hideOnce(s string, json bool) string {
	if len(s) < cacheLeast {
		return v.hideAs(s, json)
	}
	age := v.age.Load()
	key := cacheKey{maphash.String(v.cache.seed, s), len(s), json}
	if hidden, ok := v.cache.get(key, age); ok {
		if hidden == "" {
			return s
		}
		return hidden
	}
	hidden := v.hideAs(s, json)
	kept := hidden
	if hidden == s {
		kept = ""
	}
	v.cache.put(key, kept, age)
	return hidden
}

func (v *Vault) hideAs(s string, json bool) string {
	if json {
		return v.hideJSON(s)
	}
	return v.Hide(s)
}

// get looks up what was hidden while the Vault knew what it knows now.
func (c *cache) get(k cacheKey, age uint64) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.age != age {
		return "", false
	}
	if s, ok := c.young[k]; ok {
		return s, true
	}
	s, ok := c.old[k]
	if ok {
		c.store(k, s)
	}
	return s, ok
}

func (c *cache) put(k cacheKey, hidden string, age uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.age != age {
		c.age, c.young, c.old, c.bytes = age, nil, nil, 0
	}
	c.store(k, hidden)
}

func (c *cache) store(k cacheKey, hidden string) {
	if c.young == nil || len(c.young) >= cacheEntries || c.bytes+len(hidden) > cacheBytes {
		c.old, c.young, c.bytes = c.young, make(map[cacheKey]string), 0
	}
	c.young[k] = hidden
	c.bytes += len(hidden)
}

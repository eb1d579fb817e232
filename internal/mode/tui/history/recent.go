package history

import (
	"slices"
	"strings"
)

// recent are prompts in memory, the newest last, each of them once. There are at most
// MaxPrompts, and maxMemory bytes of them.
type recent struct {
	texts []string
	size  int
}

// add puts a prompt to the front.
func (r *recent) add(text string) {
	if i := slices.Index(r.texts, text); i >= 0 {
		r.texts = append(slices.Delete(r.texts, i, i+1), text)
		return
	}
	r.texts = append(r.texts, text)
	r.size += len(text)
	r.trim()
}

// before puts older prompts, the newest last and each once, behind those that are
// there. Few are there when the older ones are read: it does not take long.
func (r *recent) before(older []string) {
	for _, s := range r.texts {
		if i := slices.Index(older, s); i >= 0 {
			older = slices.Delete(older, i, i+1)
		}
	}
	for _, s := range older {
		r.size += len(s)
	}
	r.texts = append(older, r.texts...)
	r.trim()
}

// trim drops the oldest beyond the limits.
func (r *recent) trim() {
	n := max(0, len(r.texts)-MaxPrompts)
	for i, s := range r.texts {
		if i >= n && r.size <= maxMemory {
			break
		}
		r.size -= len(s)
		n = max(n, i+1)
	}
	r.texts = slices.Delete(r.texts, 0, n)
}

// prefix finds the back-th prompt from the newest that begins with prefix.
func (r *recent) prefix(prefix string, back int) (string, bool) {
	if back < 1 {
		return "", false
	}
	for _, s := range slices.Backward(r.texts) {
		if strings.HasPrefix(s, prefix) && len(s) > len(prefix) {
			if back--; back == 0 {
				return s, true
			}
		}
	}
	return "", false
}

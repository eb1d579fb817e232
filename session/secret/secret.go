// Package secret keeps secrets at home: it finds secret values in what is about
// to leave (a request, a line of the transcript, an export, a log), puts
// placeholders in their place, and puts the values back in the arguments of tool
// calls that act on the workspace.
//
// A [Vault] knows values from three sources: variables of the environment whose
// names speak of credentials, entries of secrets.yml, and detectors of some
// hundred kinds of tokens. Each value is also found as it looks URL-encoded,
// JSON-escaped and in base64. A value that a detector has found once is known
// from then on, wherever it stands; of a private key every piece of 16 characters is,
// whatever its lines are prefixed with or however they are cut ([Vault.Learn]).
//
// [Vault.Hide] and its relatives take secrets out, [Vault.Restore] and
// [Vault.RestoreArgs] put them back. Restored text must go to the workspace only:
// a value restored into the address of a web request would be sent out.
//
// What it promises: hiding twice changes nothing more; the same value has the
// same placeholder in every process with the same key; restoring what was hidden
// gives the text back, except for entries in replace mode and values beyond the
// limits below; work is linear in the length of the text. Images and other
// binary data are not looked into.
package secret

import (
	"crypto/rand"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Limits. Values beyond them are still hidden where they are detected; they are
// not recognized in other forms or places, and beyond maxHeld not restored.
const (
	maxValues = 1000     // entries, and variables of the environment: more are an error
	maxLearnt = 1024     // values taken from detectors and expressions that are searched for
	maxSought = 32 << 10 // bytes of one value that is searched for
	maxHeld   = 8192     // texts that can be restored
	maxBytes  = 16 << 20 // sum of their lengths
)

// Options of a Vault.
type Options struct {
	Env     []string // KEY=VALUE, as os.Environ gives them
	Entries []Entry  // of secrets.yml, the more specific file first: the first entry of a content counts
	// Key makes placeholders the same in all processes that share it. It must
	// be secret itself. A random one is taken when it is empty.
	Key      []byte
	NoDetect bool // use Env and Entries only
}

// Vault knows secret values. Its methods may be called from any goroutine.
type Vault struct {
	key      []byte
	patterns []*pattern
	whole    bool // some pattern may match across lines
	noDetect bool
	names    []string // values, lower case, that no placeholder's name may hold

	mu              sync.RWMutex
	index           index
	byText          map[string]*value // what is searched for
	byTag           map[string]string // what can be restored, by the part of the tag that names it
	lines           []string          // values of several lines
	private, public bodies            // of armors
	learnt          int
	bytes           int
	age             atomic.Uint64 // counts changes of what is searched for

	cache cache
}

// value is a text that must not leave.
type value struct {
	kind        string
	placeholder string
	// replace tells how the value and what overlaps it is hidden in replace mode.
	replace *Entry
}

// New makes a Vault. An error is one line and names the entry that is wrong.
func New(o Options) (*Vault, error) {
	v := &Vault{key: slices.Clone(o.Key), noDetect: o.NoDetect, byText: map[string]*value{}, byTag: map[string]string{}}
	if len(v.key) == 0 {
		v.key = make([]byte, 32)
		if _, err := rand.Read(v.key); err != nil {
			return nil, fmt.Errorf("make a key for placeholders: %w", err)
		}
	}
	if len(o.Entries) > maxValues {
		return nil, fmt.Errorf("secrets.yml has %d entries; at most %d are possible", len(o.Entries), maxValues)
	}
	v.index = detecting()
	if o.NoDetect {
		v.index = placeholding()
	}
	v.index.genuine = v.genuine
	env := environ(o.Env)
	if len(env) > maxValues {
		return nil, fmt.Errorf("the environment has %d credentials; at most %d are possible", len(env), maxValues)
	}
	for _, e := range env {
		v.names = append(v.names, strings.ToLower(e.Content))
	}
	for i := range o.Entries {
		if o.Entries[i].Type != Regex {
			v.names = append(v.names, strings.ToLower(o.Entries[i].Content))
		}
	}
	for i := range o.Entries {
		if err := v.addEntry(o.Entries[i]); err != nil {
			return nil, fmt.Errorf("secrets.yml, entry %d: %w", i+1, err)
		}
	}
	for _, e := range env {
		v.know(e.Content, "env:"+e.Name, v.safeName(e.Name), nil)
	}
	v.cache.seed = maphash.MakeSeed()
	return v, v.checkReplacements()
}

// environ are the secrets of the environment, named after their variables.
func environ(vars []string) []Entry {
	var out []Entry
	for _, kv := range vars {
		name, text, _ := strings.Cut(kv, "=")
		if s := environSecret(name, text); s != "" && !strings.Contains(strings.ToLower(placeholderStart), strings.ToLower(s)) {
			out = append(out, Entry{Name: name, Content: s})
		}
	}
	return out
}

// safeName is name as a placeholder shows it, unless that would show a value.
func (v *Vault) safeName(name string) string {
	name = placeholderName(name)
	low := strings.ToLower(name)
	for _, n := range v.names {
		if len(n) >= minPlain && strings.Contains(low, n) {
			return "VALUE"
		}
	}
	return name
}

// know begins to search for text in all its forms. It reports whether that is new.
func (v *Vault) know(text, kind, name string, replace *Entry) bool {
	fresh := false
	for _, f := range forms(text) {
		if v.byText[f.text] != nil {
			continue // the first to know a value decides how it is hidden
		}
		val := &value{kind: kind, replace: replace}
		if replace == nil {
			val.placeholder = v.hold(name+f.suffix, f.text)
		}
		fresh = true
		v.byText[f.text] = val
		v.index.add(literal{text: f.text, value: val})
		if strings.Contains(f.text, "\n") {
			v.lines = append(v.lines, f.text)
		}
	}
	if fresh {
		v.age.Add(1)
	}
	return fresh
}

// hold makes the placeholder of text and remembers what it stands for.
func (v *Vault) hold(name, text string) string {
	p := v.placeholder(name, text)
	tag := p[len(p)-tagLength : len(p)-tagLength+valueTag]
	if _, held := v.byTag[tag]; !held && len(v.byTag) < maxHeld && v.bytes+len(text) <= maxBytes {
		v.byTag[tag] = strings.Clone(text)
		v.bytes += len(text)
	}
	return p
}

// Count is the number of texts that the Vault searches for: values and their
// encodings.
func (v *Vault) Count() int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return len(v.byText)
}

// Hide is s with a placeholder in place of each secret; s itself, without an
// allocation, when it holds none.
func (v *Vault) Hide(s string) string {
	// What stands in place of a secret may complete something that an expression
	// of an entry matches, so the result is looked at again.
	for range maxRounds {
		spans := v.spans(s)
		if len(spans) == 0 {
			return s
		}
		next := v.apply(s, spans)
		if next == s {
			return s
		}
		s = next
	}
	return s
}

// HideBytes is Hide for bytes: b itself when it holds no secret. b is not
// changed.
func (v *Vault) HideBytes(b []byte) []byte {
	if len(b) == 0 {
		return b
	}
	view := unsafe.String(&b[0], len(b)) // does not outlive this call: what is remembered is cloned
	spans := v.spans(view)
	if len(spans) == 0 {
		return b
	}
	return []byte(v.Hide(strings.Clone(view)))
}

// maxRounds bounds how often a text is looked at again after it taught something.
const maxRounds = 4

// Finding is a secret in a text. It never holds the value.
type Finding struct {
	Kind        string // of the detector; "env:" or "entry:" and a name for values known beforehand
	Offset      int    // in bytes
	Length      int    // in bytes
	Placeholder string // what Hide puts there
}

// Report lists the secrets in s in their order.
func (v *Vault) Report(s string) []Finding {
	var out []Finding
	for _, sp := range v.spans(s) {
		out = append(out, Finding{sp.kind, sp.lo, sp.hi - sp.lo, v.substitute(s, sp)})
	}
	return out
}

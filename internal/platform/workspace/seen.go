package workspace

import (
	"crypto/sha256"
	"sync"
)

// maxSeen is how many files the memory holds. The one that was seen longest ago is
// forgotten: the model has to read it again before it overwrites it.
const maxSeen = 10_000

// memory is what the model has seen of files.
type memory struct {
	mu    sync.Mutex
	files map[string]sight
	clock uint64
}

type sight struct {
	hash [sha256.Size]byte
	at   uint64
}

func newMemory() *memory { return &memory{files: map[string]sight{}} }

func (m *memory) saw(name string, data []byte) {
	hash := sha256.Sum256(data)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock++
	m.files[name] = sight{hash, m.clock}
	if len(m.files) <= maxSeen {
		return
	}
	oldest, at := "", m.clock+1
	for n, s := range m.files {
		if s.at < at {
			oldest, at = n, s.at
		}
	}
	delete(m.files, oldest)
}

func (m *memory) forget(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, name)
}

func (m *memory) what(name string) ([sha256.Size]byte, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.files[name]
	return s.hash, ok
}

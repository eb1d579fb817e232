package transcript_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/sealed"
	"github.com/burin-dev/burin/transcript/storetest"
)

func TestMemoryIsAStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) *storetest.Opener {
		m := new(transcript.Memory)
		return &storetest.Opener{Open: func() (transcript.Store, error) { return m, nil }}
	})
}

func TestFileIsAStore(t *testing.T) {
	storetest.RunWhole(t, openFaulty)
}

// A sealed session withstands whatever its file does.
func TestSealedFileIsAStore(t *testing.T) {
	pacetest.Costly(t)
	key, err := sealed.NewKey(make([]byte, sealed.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	storetest.Run(t, func(t *testing.T) *storetest.Opener {
		o := openFaulty(t)
		below := o.Open
		o.Open = func() (transcript.Store, error) {
			file, err := below()
			if err != nil {
				return nil, err
			}
			return sealed.New(file, key)
		}
		return o
	})
}

// openFaulty gives the place of a session file on a disk that can fail.
func openFaulty(t *testing.T) *storetest.Opener {
	disk := storetest.NewFaultyDisk(t.TempDir())
	path := filepath.Join(t.TempDir(), "session.jsonl")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(disk.Crash)
	return &storetest.Opener{
		Open:  func() (transcript.Store, error) { return transcript.OpenFileOn(disk, path) },
		Crash: disk.Crash,
		PowerCut: func(rng *rand.Rand) {
			if err := disk.PowerCut(rng); err != nil {
				t.Fatal(err)
			}
		},
		Faults: &disk.Faults,
	}
}

func TestFileSurvivesKills(t *testing.T) {
	storetest.RunKilled(t, func(dir string) (transcript.Store, error) {
		path := filepath.Join(dir, "session.jsonl")
		f, err := os.OpenFile(path, os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
		return transcript.OpenFile(path)
	})
}

package config

import (
	"errors"
	"os"
	"path/filepath"
)

// Paths are the folders burin keeps its files in. None is created before
// something is written into it.
type Paths struct {
	Config string // config.yml, models.yml
	Data   string // burin.db, key, sessions/
	Cache  string // what can be fetched or computed again
	State  string // logs/
}

// FindPaths decides where the files are: BURIN_HOME if set; else ~/.burin if it
// is there; else, for each kind whose XDG variable is set, $XDG_…_HOME/burin;
// else ~/.burin. An existing ~/.burin wins over XDG so that a variable that
// appears later does not hide a user's sessions and keys.
func FindPaths(getenv func(string) string) (Paths, error) {
	if home := getenv("BURIN_HOME"); home != "" {
		abs, err := filepath.Abs(home)
		if err != nil {
			return Paths{}, err
		}
		return under(abs), nil
	}
	user := getenv("HOME")
	if user == "" {
		var err error
		if user, err = os.UserHomeDir(); err != nil {
			return Paths{}, errors.New("no home directory: set BURIN_HOME to the folder for burin's files")
		}
	}
	p := under(filepath.Join(user, ".burin"))
	if _, err := os.Stat(p.Config); err == nil {
		return p, nil
	}
	xdg := func(name string, to *string) {
		if dir := getenv(name); filepath.IsAbs(dir) { // the XDG rules ignore relative paths
			*to = filepath.Join(dir, "burin")
		}
	}
	xdg("XDG_CONFIG_HOME", &p.Config)
	xdg("XDG_DATA_HOME", &p.Data)
	p.Cache = filepath.Join(p.Data, "cache")
	xdg("XDG_CACHE_HOME", &p.Cache)
	xdg("XDG_STATE_HOME", &p.State)
	return p, nil
}

func under(home string) Paths {
	return Paths{Config: home, Data: home, Cache: filepath.Join(home, "cache"), State: home}
}

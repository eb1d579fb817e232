package permission

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/burin-dev/burin/internal/platform/filelock"
	"github.com/burin-dev/burin/internal/platform/smallfile"
)

// store is the file of lasting grants: JSON, indented, readable by the user
// alone. It has no comments; who granted what and when is in the entries.
type store struct{ path string }

// keptFile is the file.
type keptFile struct {
	Version int        `json:"version"`
	Rules   []keptRule `json:"rules"`
}

// keptRule is a rule in the file.
type keptRule struct {
	ID      string     `json:"id"`
	Rule    string     `json:"rule"`              // as ParseRule reads it
	Project string     `json:"project,omitempty"` // absolute; empty: all projects
	Granted time.Time  `json:"granted"`
	Expires *time.Time `json:"expires,omitempty"`
}

const (
	storeVersion = 1
	maxStore     = 4 << 20 // bytes; a larger file was not written by burin
	lockWait     = 5 * time.Second
)

func (k keptRule) rule() (Rule, error) {
	r, err := ParseRule(k.Rule)
	if err != nil {
		return Rule{}, err
	}
	r.ID, r.Scope, r.Source = k.ID, User, "you, "+k.Granted.Local().Format("2 Jan 2006")
	if k.Project != "" {
		r.Scope = Project
	}
	if k.Expires != nil {
		r.Expires = *k.Expires
	}
	return r, nil
}

// stamp tells one version of the file from another; nil is no file.
type stamp struct{ info fs.FileInfo }

func (s stamp) same(o stamp) bool {
	if s.info == nil || o.info == nil {
		return s.info == nil && o.info == nil
	}
	return os.SameFile(s.info, o.info) && s.info.ModTime().Equal(o.info.ModTime()) && s.info.Size() == o.info.Size() && s.info.Mode() == o.info.Mode()
}

func (s *store) stamp() stamp {
	info, err := os.Stat(s.path)
	if err != nil {
		return stamp{}
	}
	return stamp{info}
}

// read gives the rules of the file. There is none before the first grant.
func (s *store) read() ([]keptRule, stamp, error) {
	f, err := os.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, stamp{}, nil
	}
	if err != nil {
		return nil, stamp{}, fmt.Errorf("read lasting grants: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, stamp{}, fmt.Errorf("read lasting grants: %w", err)
	}
	at := stamp{info}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return nil, at, fmt.Errorf("%s can be written by others, so its grants are not trusted: chmod 600 it after a look at what is in it", s.path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxStore+1))
	if err != nil {
		return nil, at, fmt.Errorf("read lasting grants: %w", err)
	}
	list, err := decodeStore(data)
	if err != nil {
		return nil, at, fmt.Errorf("%s stores permanent grants and cannot be read (%w): fix it, or move it away to start over", s.path, err)
	}
	return list, at, nil
}

// decodeStore is strict: a field that is not known might narrow a rule.
func decodeStore(data []byte) ([]keptRule, error) {
	if len(data) > maxStore {
		return nil, errors.New("larger than 4 MB")
	}
	var version struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, err
	}
	if version.Version != storeVersion {
		return nil, fmt.Errorf("its version is %d, this program knows %d", version.Version, storeVersion)
	}
	var file keptFile
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more behind its end")
	}
	for _, k := range file.Rules {
		if _, err := k.rule(); err != nil {
			return nil, err
		}
		if k.ID == "" || k.Project != "" && !filepath.IsAbs(k.Project) {
			return nil, fmt.Errorf("the entry of rule %q is not complete", k.Rule)
		}
	}
	return file.Rules, nil
}

// change reads the file, changes it and writes it, while no other process does.
func (s *store) change(f func([]keptRule) ([]keptRule, error)) error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return fmt.Errorf("keep a grant: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), lockWait, errors.New("another process holds it"))
	defer cancel()
	lock, err := filelock.Take(ctx, s.path+".lock")
	if err != nil {
		return fmt.Errorf("keep a grant: %w", err)
	}
	defer lock.Close()
	list, _, err := s.read()
	if err != nil {
		return err
	}
	if list, err = f(list); err != nil {
		return err
	}
	if list == nil {
		list = []keptRule{}
	}
	data, err := json.MarshalIndent(keptFile{storeVersion, list}, "", "  ")
	if err != nil {
		return fmt.Errorf("keep a grant: %w", err)
	}
	if len(data) > maxStore {
		return fmt.Errorf("keep a grant: %s would be larger than 4 MB: revoke some", s.path)
	}
	if err := smallfile.Replace(s.path, append(data, '\n')); err != nil {
		return fmt.Errorf("keep a grant: %w", err)
	}
	return nil
}

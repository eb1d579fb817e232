// Package update replaces the program by a newer release, or by the one before.
//
// A release is found where GitHub lists those of the repository, or at a mirror. Nothing
// of it is trusted before the signature of its checksums is verified with a key that was
// compiled in (release.pub), and the checksum of the archive with these. The name of the
// archive holds its version, so that an old release cannot pass for a new one.
//
// The program's file is replaced in one step, after the new program has been started once
// to say its version. Whatever fails before leaves the old one in its place. It is kept
// beside the new one, for [Updater.Back]. Programs that run go on. The folders of the release that
// stand beside the program are replaced with it.
//
// Nothing here runs at start-up: [Updater.Hint] is called when the screen is there.
package update

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/burin-dev/burin/internal/host/update/minisign"
	"github.com/burin-dev/burin/internal/installed"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm/wire"
)

//go:embed release.pub
var releaseKeys string

// Keys are the public keys of releases.
func Keys() ([]minisign.PublicKey, error) { return minisign.ParseKeys(releaseKeys) }

// Page is where people find releases.
const Page = "https://github.com/burin-dev/burin/releases"

// Options of an updater.
type Options struct {
	// Version is that of this program, such as v0.1.0; anything else is no release.
	Version string
	Getenv  func(string) string
	// Say is told what is being done, a line each; nil: nobody is.
	Say func(string)
}

// Updater updates this program.
type Updater struct {
	version string
	module  bool // built by go install, from a module
	getenv  func(string) string
	say     func(string)
	keys    []minisign.PublicKey
	exe     string // of this program, without links
	client  *http.Client
}

// New is an updater of the program that runs.
func New(o Options) (*Updater, error) {
	exe, err := os.Executable()
	if err == nil {
		exe, err = filepath.EvalSymlinks(exe)
	}
	if err != nil {
		return nil, fmt.Errorf("find the program's own file: %w", err)
	}
	keys, err := Keys()
	if err != nil {
		return nil, fmt.Errorf("read the public keys of releases: %w", err)
	}
	u := &Updater{version: o.Version, getenv: o.Getenv, say: o.Say, keys: keys, exe: exe}
	if info, ok := debug.ReadBuildInfo(); ok {
		u.module = info.Main.Sum != ""
	}
	if u.say == nil {
		u.say = func(string) {}
	}
	with := wire.OptionsFromEnv(o.Getenv)
	with.ClientCert, with.ClientKey = "", "" // for the servers of models
	if u.client, err = wire.NewClient(with); err != nil {
		return nil, err
	}
	u.client.CheckRedirect = nil // files of releases are elsewhere, and no key travels
	return u, nil
}

// released reports whether a version is one of a release.
func released(version string) bool {
	return semver.IsValid(version) && semver.Build(version) == "" && !module.IsPseudoVersion(version)
}

// Released reports whether this program is a release.
func (u *Updater) Released() bool { return released(u.version) }

// Newer reports whether a version is newer than this program.
func (u *Updater) Newer(version string) bool { return semver.Compare(version, u.version) > 0 }

// How says what to run to update this program.
func (u *Updater) How(ctx context.Context) string {
	switch {
	case !u.Released() || len(u.keys) == 0:
		return "see " + Page
	default:
		return cmp.Or(u.manager(ctx).update, "burin update")
	}
}

// Able says why this program does not update itself, and what to do; nil: it does. Nothing
// is asked of the network.
func (u *Updater) Able(ctx context.Context) error {
	if !u.Released() {
		return fmt.Errorf("this burin was built from source (%s): update the source and build it again", u.version)
	}
	if m := u.manager(ctx); m.update != "" {
		return fmt.Errorf("%s installed this burin: run %s", m.name, m.update)
	}
	if len(u.keys) == 0 {
		return fmt.Errorf("this burin was built without a public key, so it can't check releases: install one from %s", Page)
	}
	return nil
}

// Result says what was done.
type Result struct {
	Version string // that is installed now
	Former  string // the file of the one before
}

// Install replaces this program by a release. An older one is refused, unless [Updater.Find]
// was asked for it.
func (u *Updater) Install(ctx context.Context, r Release) (Result, error) {
	if err := u.Able(ctx); err != nil {
		return Result{}, err
	}
	if !r.asked && !u.Newer(r.Version) {
		return Result{}, fmt.Errorf("%s, the newest release, is not newer than this burin, %s: run burin update --version %s to install it", r.Version, u.version, r.Version)
	}
	// The new program is written where it belongs, which shows before the download
	// whether that can be.
	to, err := os.CreateTemp(filepath.Dir(u.exe), ".burin-*"+ending(u.exe))
	if err != nil {
		return Result{}, u.unwritable(err)
	}
	defer os.Remove(to.Name())
	defer to.Close()
	stage, err := os.MkdirTemp(filepath.Dir(u.exe), ".burin-*")
	if err != nil {
		return Result{}, u.unwritable(err)
	}
	defer os.RemoveAll(stage)
	if err := u.download(ctx, r, to, stage); err != nil {
		return Result{}, err
	}
	mode := os.FileMode(0o755)
	if info, err := os.Stat(u.exe); err == nil {
		mode = info.Mode().Perm()
	}
	if err := errors.Join(to.Chmod(mode), to.Sync(), to.Close()); err != nil {
		return Result{}, fmt.Errorf("write the new program: %w", err)
	}
	switch got, err := versionOf(ctx, to.Name()); {
	case err != nil:
		return Result{}, fmt.Errorf("the new burin doesn't run here: %w; nothing was changed", err)
	case got != r.Version:
		return Result{}, fmt.Errorf("the new burin says that it is %q, not %s; nothing was changed", prose.Inline(got), r.Version)
	}
	done, err := u.put(to.Name(), r.Version)
	if err == nil {
		u.moved(swap(filepath.Dir(u.exe), stage))
	}
	return done, err
}

// moved tells that folders beside the program could not be replaced, which it can do without.
func (u *Updater) moved(err error) {
	if err != nil {
		u.say("The folders private and web beside burin could not be replaced: take those of the archive, or private projects and diagrams are missing (" + err.Error() + ")")
	}
}

// Back puts the program before in place, and keeps this one as the one before.
func (u *Updater) Back(ctx context.Context) (Result, error) {
	old := former(u.exe)
	if info, err := os.Lstat(old); err != nil || !info.Mode().IsRegular() {
		return Result{}, fmt.Errorf("no former burin at %s: burin update keeps the one that it replaces there", old)
	}
	version, err := versionOf(ctx, old)
	if err != nil {
		return Result{}, fmt.Errorf("the former burin at %s doesn't run: %w", old, err)
	}
	aside := filepath.Join(filepath.Dir(u.exe), ".burin-back"+ending(u.exe))
	if err := os.Rename(old, aside); err != nil {
		return Result{}, u.unwritable(err)
	}
	r, err := u.put(aside, version)
	if err != nil {
		_ = os.Rename(aside, old)
		return r, err
	}
	u.moved(swapBack(filepath.Dir(u.exe)))
	return r, nil
}

// put moves a new program into the place of this one, which becomes the former.
func (u *Updater) put(file, version string) (Result, error) {
	old := former(u.exe)
	if err := replace(u.exe, file, old); err != nil {
		return Result{}, u.unwritable(err)
	}
	return Result{Version: version, Former: old}, nil
}

// unwritable says what to do where the program's folder cannot be changed.
func (u *Updater) unwritable(err error) error {
	if !errors.Is(err, os.ErrPermission) && !readOnly(err) {
		return fmt.Errorf("replace %s: %w", u.exe, err)
	}
	return fmt.Errorf("can't write to %s: %s, or install burin in a folder of your own", filepath.Dir(u.exe), asAdministrator)
}

// former is where the program before is kept.
func former(exe string) string {
	end := ending(exe)
	return strings.TrimSuffix(exe, end) + ".old" + end
}

// ending is what the file of a program must end with.
func ending(exe string) string {
	if strings.HasSuffix(exe, ".exe") {
		return ".exe"
	}
	return ""
}

// versionOf starts a burin to say its version.
func versionOf(ctx context.Context, file string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	out, err := installed.Own(ctx, file, "--version").Output()
	if err != nil {
		return "", err
	}
	words := strings.Fields(string(out))
	if len(words) < 2 || words[0] != "burin" {
		return "", errors.New("it is not burin")
	}
	return words[1], nil
}

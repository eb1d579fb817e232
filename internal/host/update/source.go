package update

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/burin-dev/burin/internal/host/update/minisign"
	"github.com/burin-dev/burin/internal/prose"
)

// address lists the releases of the repository, as GitHub's API does. BURIN_UPDATE_URL
// names another that answers as it: /latest, and /tags/VERSION.
const address = "https://api.github.com/repos/burin-dev/burin/releases"

// How large what is downloaded may be, in bytes.
const (
	maxList    = 4 << 20
	maxSums    = 64 << 10
	maxArchive = 200 << 20
)

// How long a request may take as a whole.
const (
	askTime      = 30 * time.Second
	downloadTime = 15 * time.Minute
)

// Release is one that can be had.
type Release struct {
	Version string            // such as v0.2.0
	asked   bool              // for this version, which may be an older one
	files   map[string]string // where each is, by name
}

// Newest is the newest release.
func (u *Updater) Newest(ctx context.Context) (Release, error) {
	r, err := u.find(ctx, "latest")
	if errors.Is(err, errNotFound) {
		return r, errors.New("no release of burin found")
	}
	return r, err
}

// Find is the release of a version, which may be written without its "v".
func (u *Updater) Find(ctx context.Context, version string) (Release, error) {
	version = "v" + strings.TrimPrefix(version, "v")
	if !released(version) || semver.Canonical(version) != version {
		return Release{}, fmt.Errorf("%q is not the version of a release, such as 0.1.0", prose.Inline(version[1:]))
	}
	r, err := u.find(ctx, "tags/"+version)
	switch {
	case errors.Is(err, errNotFound):
		return r, fmt.Errorf("no release %s of burin: %s lists all", version, Page)
	case err == nil && r.Version != version:
		return r, fmt.Errorf("the server offers %s instead of %s", r.Version, version)
	}
	r.asked = true
	return r, err
}

func (u *Updater) find(ctx context.Context, which string) (Release, error) {
	base := strings.TrimSuffix(u.getenv("BURIN_UPDATE_URL"), "/")
	if base == "" {
		base = address
	}
	at, err := url.Parse(base + "/" + which)
	if err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" {
		return Release{}, errors.New("BURIN_UPDATE_URL is not an http or https address")
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var body bytes.Buffer
	if err := u.get(ctx, at.String(), maxList, &body); err != nil {
		return Release{}, fmt.Errorf("ask %s for releases: %w", at.Host, err)
	}
	var said struct {
		Tag    string `json:"tag_name"`
		Assets []struct {
			Name string `json:"name"`
			URL  string `json:"browser_download_url"`
		} `json:"assets"`
	}
	if err := json.Unmarshal(body.Bytes(), &said); err != nil || !released(said.Tag) {
		return Release{}, fmt.Errorf("ask %s for releases: the answer is not a release of burin", at.Host)
	}
	r := Release{Version: said.Tag, files: map[string]string{}}
	for _, a := range said.Assets {
		if file, err := at.Parse(a.URL); err == nil { // relative ones suit mirrors
			r.files[a.Name] = file.String()
		}
	}
	return r, nil
}

// archive is the name of a release's archive for this platform.
func (r Release) archive() string {
	ending := ".tar.gz"
	if runtime.GOOS == "windows" {
		ending = ".zip"
	}
	return fmt.Sprintf("burin_%s_%s_%s%s", strings.TrimPrefix(r.Version, "v"), runtime.GOOS, runtime.GOARCH, ending)
}

// download gets a release's program for this platform and checks it. Folders that belong to it come into stage.
func (u *Updater) download(ctx context.Context, r Release, to io.Writer, stage string) error {
	ctx, cancel := context.WithTimeout(ctx, downloadTime)
	defer cancel()
	const sums = "checksums.txt"
	var list, signature bytes.Buffer
	if err := u.file(ctx, r, sums, maxSums, &list); err != nil {
		return err
	}
	if err := u.file(ctx, r, sums+".minisig", maxSums, &signature); err != nil {
		return err
	}
	if _, err := minisign.Verify(u.keys, list.Bytes(), signature.Bytes()); err != nil {
		return fmt.Errorf("the signature of %s %s is wrong (%w): nothing was changed", r.Version, sums, err)
	}
	name := r.archive()
	want, ok := sumOf(list.String(), name)
	if !ok {
		return fmt.Errorf("%s has no %s: burin is not released for this platform", r.Version, name)
	}
	u.say("Downloading " + name)
	archive, err := os.CreateTemp("", "burin-*")
	if err != nil {
		return err
	}
	defer os.Remove(archive.Name())
	defer archive.Close()
	hash := sha256.New()
	if err := u.file(ctx, r, name, maxArchive, io.MultiWriter(archive, hash)); err != nil {
		return err
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != want {
		return fmt.Errorf("the checksum of %s is wrong: nothing was changed; try again, and report it if it stays so", name)
	}
	if err := unpack(archive, name, maxUnpacked, to, stage, beside(filepath.Dir(u.exe))); err != nil {
		return fmt.Errorf("unpack %s: %w: nothing was changed", name, err)
	}
	return nil
}

// sumOf finds a file's checksum in a list as sha256sum writes it.
func sumOf(list, name string) (string, bool) {
	for line := range strings.Lines(list) {
		if sum, of, ok := strings.Cut(strings.TrimSpace(line), "  "); ok && of == name {
			return sum, true
		}
	}
	return "", false
}

// file downloads one of a release's files.
func (u *Updater) file(ctx context.Context, r Release, name string, limit int64, to io.Writer) error {
	at, ok := r.files[name]
	if !ok {
		return fmt.Errorf("%s has no %s: it is incomplete, or burin is not released for this platform", r.Version, name)
	}
	if err := u.get(ctx, at, limit, to); err != nil {
		return fmt.Errorf("download %s: %w: nothing was changed", name, err)
	}
	return nil
}

var errNotFound = errors.New("not found")

// get writes what is at an address, which has at most limit bytes.
func (u *Updater) get(ctx context.Context, address string, limit int64, to io.Writer) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", "burin/"+u.version)
	response, err := u.client.Do(request)
	if err != nil {
		return plain(ctx, err)
	}
	defer response.Body.Close()
	switch status := response.StatusCode; {
	case status == http.StatusNotFound:
		return errNotFound
	case status == http.StatusForbidden, status == http.StatusTooManyRequests:
		return fmt.Errorf("refused (%d), as after too many requests: try again later", status)
	case status != http.StatusOK:
		return fmt.Errorf("the server answers %d", status)
	case response.ContentLength > limit:
		return fmt.Errorf("larger than %d MB", limit>>20)
	}
	n, err := io.Copy(to, io.LimitReader(response.Body, limit+1))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it broke off")
	case err != nil:
		return plain(ctx, err)
	case n > limit:
		return fmt.Errorf("larger than %d MB", limit>>20)
	}
	return nil
}

// plain is an error without the address that it repeats: redirects have keys in theirs.
func plain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			return errors.New("no answer in time")
		}
		return context.Cause(ctx)
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

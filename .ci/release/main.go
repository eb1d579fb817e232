// Release writes the parts list (SBOM) of a binary, signs checksums, and looks into a
// finished release.
//
//	release sbom BINARY DOCUMENT
//	release key
//	release sign FILE SIGNATURE SNAPSHOT
//	release check DIST
//
// What signs is the seed in RELEASE_KEY; release key makes one. A snapshot without a seed is
// signed with a key that is thrown away.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

func main() {
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 3 && args[0] == "sbom":
		err = writeParts(args[1], args[2])
	case len(args) == 1 && args[0] == "key":
		err = makeKey()
	case len(args) == 4 && args[0] == "sign":
		err = sign(args[1], args[2], args[3] == "true")
	case len(args) == 2 && args[0] == "check":
		err = check(args[1])
	default:
		err = errors.New("usage: release sbom BINARY DOCUMENT, release key, release sign FILE SIGNATURE SNAPSHOT, or release check DIST")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// component is a part as CycloneDX names it.
type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	PURL    string `json:"purl,omitempty"`
}

// document is a parts list.
type document struct {
	Format   string `json:"bomFormat"`
	Spec     string `json:"specVersion"`
	Version  int    `json:"version"`
	Metadata struct {
		Component component `json:"component"`
	} `json:"metadata"`
	Components []component `json:"components"`
}

// part is a module as a component.
func part(kind string, m debug.Module) component {
	if m.Replace != nil {
		m = *m.Replace
	}
	purl := "pkg:golang/" + m.Path + "@" + m.Version
	return component{Type: kind, Ref: purl, Name: m.Path, Version: m.Version, PURL: purl}
}

// parts are what is in a binary: the modules it was linked from, and Go's library. No time
// and no random number: the same binary has the same list.
func parts(binary string) (document, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return document{}, fmt.Errorf("list the parts of %s: %w", binary, err)
	}
	d := document{Format: "CycloneDX", Spec: "1.6", Version: 1}
	d.Metadata.Component = part("application", info.Main)
	d.Components = []component{part("library", debug.Module{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")})}
	for _, m := range info.Deps {
		d.Components = append(d.Components, part("library", *m))
	}
	return d, nil
}

func writeParts(binary, to string) error {
	d, err := parts(binary)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(to, append(text, '\n'), 0o644)
}

// check says what is missing in a release, or too much.
func check(dist string) error {
	sums, err := checksums(filepath.Join(dist, "checksums.txt"))
	if err != nil {
		return err
	}
	var wrong []error
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }

	names := slices.Sorted(maps.Keys(sums))
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(dist, name))
		if err != nil {
			complain("%s is in checksums.txt, but not there: %w", name, err)
			continue
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(content)); sum != sums[name] {
			complain("%s: its checksum is not that of checksums.txt", name)
		}
	}
	beside, err := wanted()
	if err != nil {
		return err
	}
	for _, system := range []string{"linux", "darwin", "windows"} {
		for _, processor := range []string{"amd64", "arm64"} {
			end, program := "_"+system+"_"+processor+".tar.gz", "burin"
			if system == "windows" {
				end, program = "_"+system+"_"+processor+".zip", "burin.exe"
			}
			archive := only(names, end)
			if archive == "" {
				complain("not exactly one archive *%s", end)
				continue
			}
			files, binary, err := contents(filepath.Join(dist, archive), program)
			if err != nil {
				complain("%s: %w", archive, err)
				continue
			}
			for _, name := range append(slices.Clone(beside), program) {
				if !slices.Contains(files, name) {
					complain("%s lacks %s", archive, name)
				}
			}
			if len(files) != len(beside)+1 {
				complain("%s has %d files instead of %d: %s", archive, len(files), len(beside)+1, strings.Join(files, " "))
			}
			if err := built(binary, system, processor); err != nil {
				complain("%s: %w", archive, err)
			}
			if err := listed(filepath.Join(dist, only(names, "_"+system+"_"+processor+".cdx.json")), binary); err != nil {
				complain("%s: %w", archive, err)
			}
		}
	}
	for _, end := range []string{"amd64.deb", "arm64.deb", "x86_64.rpm", "aarch64.rpm", "x86_64.apk", "aarch64.apk"} {
		if only(names, end) == "" {
			complain("not exactly one package *%s", end)
		}
	}
	if len(names) != 18 {
		complain("%d files are in checksums.txt instead of 18: 6 archives, 6 parts lists, 6 packages", len(names))
	}
	wrong = append(wrong, managers(dist, beside, sums)...)
	wrong = append(wrong, packaged(filepath.Join(dist, only(names, "amd64.deb")), beside)...)
	if err := signed(filepath.Join(dist, "checksums.txt")); err != nil {
		wrong = append(wrong, err)
	}
	if len(wrong) == 0 {
		fmt.Printf("%d files, each archive with %d files\n", len(names), len(beside)+1)
	}
	return errors.Join(wrong...)
}

// packaged checks what a Debian package installs, and lists it.
func packaged(deb string, beside []string) (wrong []error) {
	files, err := installs(deb)
	if err != nil {
		return []error{fmt.Errorf("%s: %w", deb, err)}
	}
	want := []string{
		"usr/bin/burin", "usr/share/doc/burin/LICENSE", "usr/share/doc/burin/README.md", "usr/share/bash-completion/completions/burin",
		"usr/share/fish/vendor_completions.d/burin.fish", "usr/share/zsh/vendor-completions/_burin",
	}
	for _, name := range beside {
		if page, is := strings.CutPrefix(name, "man/"); is {
			want = append(want, "usr/share/man/man"+page[len(page)-1:]+"/"+page)
		}
		if strings.HasPrefix(name, "private/") || strings.HasPrefix(name, "web/") {
			want = append(want, "usr/share/burin/"+name)
		}
	}
	fmt.Printf("%s installs:\n", filepath.Base(deb))
	for _, name := range files {
		fmt.Printf("  /%s\n", name)
	}
	slices.Sort(want)
	if !slices.Equal(files, want) {
		wrong = append(wrong, fmt.Errorf("%s installs %d files instead of %d: %s", deb, len(files), len(want), strings.Join(want, " ")))
	}
	return wrong
}

// installs are the files in a Debian package: an ar archive, with a tar of these in it.
func installs(deb string) (files []string, err error) {
	content, err := os.ReadFile(deb)
	if err != nil {
		return nil, err
	}
	const head = 60 // of a member: its name in 16 bytes, its size in 10 from byte 48 on
	content, found := bytes.CutPrefix(content, []byte("!<arch>\n"))
	for found && len(content) >= head {
		size, err := strconv.Atoi(strings.TrimSpace(string(content[48:58])))
		if err != nil || size < 0 || head+size > len(content) {
			break
		}
		if strings.TrimRight(string(content[:16]), " /") == "data.tar.gz" {
			err = eachFile(bytes.NewReader(content[head:head+size]), func(h *tar.Header, _ io.Reader) error {
				if h.Typeflag == tar.TypeReg {
					files = append(files, strings.TrimPrefix(h.Name, "./"))
				}
				return nil
			})
			slices.Sort(files)
			return files, err
		}
		content = content[min(head+size+size%2, len(content)):]
	}
	return nil, errors.New("no Debian package with a data.tar.gz")
}

// managers checks what Homebrew and Scoop get: every man page, and the checksums.
func managers(dist string, beside []string, sums map[string]string) (wrong []error) {
	cask, err := os.ReadFile(filepath.Join(dist, "homebrew", "Casks", "burin.rb"))
	if err != nil {
		return []error{err}
	}
	bucket, err := os.ReadFile(filepath.Join(dist, "scoop", "burin.json"))
	if err != nil {
		return []error{err}
	}
	for _, name := range beside {
		if strings.HasPrefix(name, "man/") && !strings.Contains(string(cask), `"`+name+`"`) {
			wrong = append(wrong, fmt.Errorf("Homebrew does not install %s: add it to .goreleaser.yaml", name))
		}
	}
	for name, sum := range sums {
		of := string(cask)
		switch {
		case strings.HasSuffix(name, ".zip"):
			of = string(bucket)
		case !strings.HasSuffix(name, ".tar.gz"):
			continue
		}
		if !strings.Contains(of, sum) {
			wrong = append(wrong, fmt.Errorf("the package manager's file does not hold the checksum of %s", name))
		}
	}
	return wrong
}

// checksums are the sums of a checksums file by file name.
func checksums(file string) (map[string]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok {
			return nil, fmt.Errorf("%s: no checksum: %q", file, line)
		}
		sums[name] = sum
	}
	return sums, nil
}

// wanted are the files that each archive holds beside the binary.
func wanted() ([]string, error) {
	files := []string{"LICENSE", "README.md"}
	from := filepath.Join(".cache", "release")
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path == filepath.Join(from, "tool") {
			return err
		}
		name, err := filepath.Rel(from, path)
		files = append(files, filepath.ToSlash(name))
		return err
	})
	for _, name := range []string{"man/burin.1", "completions/burin.bash", "completions/_burin", "completions/burin.fish", "completions/burin.ps1", "private/burin.wasm.gz", "private/wasm_exec.js", "private/version", "web/mermaid.js.gz", "web/webllm.js.gz", "web/webllm.json.gz", "web/version"} {
		if err == nil && !slices.Contains(files, name) {
			err = fmt.Errorf("%s was not written", name)
		}
	}
	return files, err
}

// only is the one name with an end.
func only(names []string, end string) string {
	found := ""
	for _, name := range names {
		if strings.HasSuffix(name, end) {
			if found != "" {
				return ""
			}
			found = name
		}
	}
	return found
}

// contents are an archive's files, and its program.
func contents(archive, program string) (files []string, binary []byte, err error) {
	read := func(name string, from io.Reader) error {
		files = append(files, name)
		content, err := io.ReadAll(from)
		if len(content) == 0 && err == nil {
			err = fmt.Errorf("%s is empty", name)
		}
		if name == program {
			binary = content
		}
		return err
	}
	if strings.HasSuffix(archive, ".zip") {
		r, err := zip.OpenReader(archive)
		if err != nil {
			return nil, nil, err
		}
		defer r.Close()
		for _, f := range r.File {
			content, err := f.Open()
			if err == nil {
				err = errors.Join(read(f.Name, content), content.Close())
			}
			if err != nil {
				return nil, nil, err
			}
		}
		return files, binary, nil
	}
	f, err := os.Open(archive)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	err = eachFile(f, func(h *tar.Header, content io.Reader) error {
		if h.Name == program && h.Mode&0o111 == 0 {
			return fmt.Errorf("%s cannot be run", program)
		}
		return read(h.Name, content)
	})
	return files, binary, err
}

// eachFile goes through a tar.gz.
func eachFile(packed io.Reader, visit func(h *tar.Header, content io.Reader) error) error {
	plain, err := gzip.NewReader(packed)
	if err != nil {
		return err
	}
	r := tar.NewReader(plain)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = visit(h, r)
		}
		if err != nil {
			return err
		}
	}
}

// built checks how a binary was built.
func built(binary []byte, system, processor string) error {
	info, err := buildinfo.Read(strings.NewReader(string(binary)))
	if err != nil {
		return err
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	for key, want := range map[string]string{"GOOS": system, "GOARCH": processor, "CGO_ENABLED": "0", "-trimpath": "true"} {
		if settings[key] != want {
			return fmt.Errorf("built with %s=%q instead of %q", key, settings[key], want)
		}
	}
	// Go asks no git about a work tree that has a file .git.
	if at, err := os.Stat(".git"); err != nil || !at.IsDir() {
		return nil
	}
	if settings["vcs.revision"] == "" || info.Main.Version == "(devel)" {
		return errors.New("the binary does not know its version")
	}
	// The loop of private projects is used by a binary of the same version.
	if of, err := os.ReadFile(filepath.Join(".cache", "release", "private", "version")); err != nil || !strings.HasPrefix(string(of), info.Main.Version) {
		return fmt.Errorf("the folder private is of %q, and the binary of %s", of, info.Main.Version)
	}
	return nil
}

// listed checks that a parts list names every module of a binary.
func listed(file string, binary []byte) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("not exactly one parts list: %w", err)
	}
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	info, err := buildinfo.Read(strings.NewReader(string(binary)))
	if err != nil {
		return err
	}
	if len(d.Components) != len(info.Deps)+1 {
		return fmt.Errorf("%s lists %d parts instead of %d", file, len(d.Components), len(info.Deps)+1)
	}
	return nil
}

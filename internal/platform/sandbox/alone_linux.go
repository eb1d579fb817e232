//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// firstProcess are flags of clone by which the filter of a program that is alone tells
// the one process that burin starts from those that the program would start. Nothing
// but burin asks for CLONE_IO, which is without effect here, together with the others.
const firstProcess = unix.CLONE_IO | unix.CLONE_VM | unix.CLONE_VFORK

// runAlone starts cmd from a thread that is confined first. The thread lives as long as
// the program, which the kernel kills at the thread's end.
func (c confinement) runAlone(cmd *exec.Cmd) (err error) {
	if !haveSeccomp() {
		return ErrCannotIsolate
	}
	// Package os finds out once what the kernel can do, by starting a process. That must
	// not happen on the confined thread, where it would fail.
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Release()
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_IO, Setsid: true, Pdeathsig: unix.SIGKILL}
	OnThread(func() {
		if err = c.apply(nil, nil); err != nil {
			err = fmt.Errorf("sandbox: %w", err)
			return
		}
		err = cmd.Run()
	})
	return err
}

// executed are the files that the kernel executes to start the program at path, which
// has no links in it: the program and its loader.
func executed(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	loader, err := loaderOf(f)
	if err != nil || loader == "" {
		return []string{path}, err
	}
	loader, err = filepath.EvalSymlinks(loader)
	return []string{path, loader}, err
}

var errNoProgram = errors.New("it is not an ELF program")

// loaderOf reads the loader (PT_INTERP) of a 64-bit little-endian ELF program; "" is
// none. The format is that of elf(5).
func loaderOf(f io.ReaderAt) (string, error) {
	const (
		headerSize  = 64
		segmentSize = 56
		interpreter = 3
	)
	var header [headerSize]byte
	if _, err := f.ReadAt(header[:], 0); err != nil || string(header[:6]) != "\x7fELF\x02\x01" {
		return "", errNoProgram
	}
	at, size, count := int64(binary.LittleEndian.Uint64(header[32:])), int64(binary.LittleEndian.Uint16(header[54:])), int64(binary.LittleEndian.Uint16(header[56:]))
	for i := range count {
		var segment [segmentSize]byte
		if _, err := f.ReadAt(segment[:], at+i*size); err != nil {
			return "", errNoProgram
		}
		if binary.LittleEndian.Uint32(segment[:]) != interpreter {
			continue
		}
		name := make([]byte, min(binary.LittleEndian.Uint64(segment[32:]), unix.PathMax))
		if _, err := f.ReadAt(name, int64(binary.LittleEndian.Uint64(segment[8:]))); err != nil {
			return "", errNoProgram
		}
		return strings.TrimRight(string(name), "\x00"), nil
	}
	return "", nil
}

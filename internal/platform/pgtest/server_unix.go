//go:build unix

package pgtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// quick is the signal that ends a server at once, without a checkpoint.
const quick = syscall.SIGQUIT

// ids are those of the account that the server runs as.
func (s *Server) ids() (uid, gid int, err error) {
	if uid, err = strconv.Atoi(s.account.Uid); err == nil {
		gid, err = strconv.Atoi(s.account.Gid)
	}
	return uid, gid, err
}

// own gives a folder to the account that the server runs as.
func (s *Server) own(dir string) error {
	if s.account == nil {
		return nil
	}
	uid, gid, err := s.ids()
	if err != nil {
		return err
	}
	return os.Chown(dir, uid, gid)
}

// command prepares one of PostgreSQL's programs.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), "LC_ALL=C", "TZ=UTC")
	cmd.SysProcAttr = attributes()
	if s.account != nil {
		if uid, gid, err := s.ids(); err == nil {
			cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	return cmd
}

// end ends the server, if it runs.
func (s *Server) end(how syscall.Signal) error {
	if s.cmd == nil || s.cmd.Process == nil {
		return nil
	}
	err := s.cmd.Process.Signal(how)
	_ = s.cmd.Wait() // it says how it ended, which is known
	s.over()
	s.cmd = nil
	return err
}

package pgtest

import (
	"os/exec"
	"syscall"
)

const quick = syscall.SIGKILL

func (s *Server) own(string) error { return nil }

func (s *Server) command(name string, args ...string) *exec.Cmd { return exec.Command(name, args...) }

func (s *Server) end(syscall.Signal) error {
	if s.cmd == nil || s.cmd.Process == nil {
		return nil
	}
	err := s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.over()
	s.cmd = nil
	return err
}

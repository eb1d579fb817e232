package sandbox

import "os"

// seatbelt is the program that runs another under a profile.
const seatbelt = "/usr/bin/sandbox-exec"

// exceptsSecrets: a rule of Seatbelt can hide a part of a writable folder.
const exceptsSecrets = true

func available() Support {
	if _, err := os.Stat(seatbelt); err != nil {
		return Support{How: "none", Missing: "No sandbox: " + seatbelt + " is not there. Commands can read and write all that you can, and reach the network."}
	}
	return Support{Files: true, Network: true, Walls: true, How: "Seatbelt"}
}

// apply has nothing to do: wrap confines.
func (c confinement) apply([]byte, func(int) []int) error { return nil }

// wrap starts the command by sandbox-exec. The command's name becomes its path.
func (c confinement) wrap(path string, args []string) (string, []string) {
	return seatbelt, append([]string{seatbelt, "-p", c.profile(), path}, args[1:]...)
}

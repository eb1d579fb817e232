package owner

import (
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// What a logout does follows from where systemd keeps the process and from what loginctl says.
func TestFindLogout(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("loginctl is a shell script here")
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	const (
		desktop = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/vte-spawn-1.scope\n"
		ssh     = "0::/user.slice/user-1000.slice/session-3.scope\n"
		old     = "12:pids:/user.slice/user-1000.slice/session-3.scope\n1:name=systemd:/user.slice/user-1000.slice/session-3.scope\n0::/\n"
		service = "0::/system.slice/cron.service\n"
		bare    = "0::/\n"
	)
	for name, tt := range map[string]struct {
		groups, user, manager string
		known, survived       bool
	}{
		"desktop":             {desktop, "Linger=no", "KillUserProcesses=no", true, false},
		"desktop that stays":  {desktop, "Linger=yes", "KillUserProcesses=yes", true, true},
		"ssh":                 {ssh, "Linger=no", "KillUserProcesses=no\nKillExcludeUsers=root", true, true},
		"ssh, killed":         {ssh, "Linger=yes", "KillUserProcesses=yes\nKillOnlyUsers=\nKillExcludeUsers=nobody", true, false},
		"ssh, excluded":       {ssh, "Linger=no", "KillUserProcesses=yes\nKillExcludeUsers=nobody " + me.Username, true, true},
		"ssh, others only":    {ssh, "Linger=no", "KillUserProcesses=yes\nKillOnlyUsers=nobody", true, true},
		"older systemd":       {old, "Linger=no", "KillUserProcesses=yes", true, false},
		"a service":           {service, "Linger=no", "KillUserProcesses=no", false, false},
		"a container":         {bare, "Linger=no", "KillUserProcesses=no", false, false},
		"loginctl says no":    {desktop, "", "", false, false},
		"loginctl says other": {desktop, "State=active", "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			bin := filepath.Join(t.TempDir(), "bin")
			script := "#!/bin/sh\n[ -n '" + tt.user + "' ] || exit 1\ncase \"$1 $2\" in\n'show-user " + me.Uid + "') echo '" + tt.user + "' ;;\n'show-session --property=KillUserProcesses') echo '" + tt.manager + "' ;;\nesac\n"
			if err := os.Mkdir(bin, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(bin, "loginctl"), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", bin+":/usr/bin:/bin")
			t.Setenv("TMPDIR", t.TempDir()) // else the program is in a folder that commands may write
			l := findLogout(t.Context(), tt.groups)
			if l.Known() != tt.known || l.Survived() != tt.survived {
				t.Errorf("%s: %+v is known %v and survived %v", strings.TrimSpace(tt.groups), l, l.Known(), l.Survived())
			}
		})
	}
}

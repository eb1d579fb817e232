package owner

import (
	"context"
	"errors"
	"os"
	"os/user"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/installed"
)

// Logout is what a logout does to the processes that this one starts, where systemd keeps
// them: the zero value says that nothing is known.
type Logout struct {
	// Managed: they run under the user's manager, which ends with the last session of the user
	// unless Lingers. Terminals of current desktops are there.
	Managed bool
	// InSession: they run in the scope of a login, as after ssh. Kills says whether a logout
	// ends what is in it (KillUserProcesses in logind.conf).
	InSession, Kills bool
	Lingers          bool
}

// Survived reports whether a process stays.
func (l Logout) Survived() bool { return l.Managed && l.Lingers || l.InSession && !l.Kills }

// Known reports whether systemd keeps the processes.
func (l Logout) Known() bool { return l.Managed || l.InSession }

// askTime is how long systemd has to answer.
const askTime = 2 * time.Second

// FindLogout asks systemd.
func FindLogout(ctx context.Context) Logout {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return Logout{}
	}
	return findLogout(ctx, string(groups))
}

var (
	managed   = regexp.MustCompile(`(?m)^(?:0::|\d+:name=systemd:)/user\.slice/user-\d+\.slice/user@\d+\.service(/|$)`)
	inSession = regexp.MustCompile(`(?m)^(?:0::|\d+:name=systemd:)/user\.slice/user-\d+\.slice/session-[^/]+\.scope(/|$)`)
)

func findLogout(ctx context.Context, groups string) Logout {
	l := Logout{Managed: managed.MatchString(groups), InSession: inSession.MatchString(groups)}
	if !l.Known() {
		return Logout{}
	}
	lingers, err := Lingers(ctx)
	if err != nil {
		return Logout{}
	}
	l.Lingers = lingers
	if l.InSession {
		me, err := user.Current()
		if err != nil {
			return Logout{}
		}
		rules, err := loginctl(ctx, "show-session", "--property=KillUserProcesses", "--property=KillOnlyUsers", "--property=KillExcludeUsers")
		if err != nil {
			return Logout{}
		}
		only := strings.Fields(rules["KillOnlyUsers"])
		l.Kills = rules["KillUserProcesses"] == "yes" && !slices.Contains(strings.Fields(rules["KillExcludeUsers"]), me.Username) &&
			(len(only) == 0 || slices.Contains(only, me.Username))
	}
	return l
}

// Lingers reports whether systemd keeps the user's manager, and with it their timers, while
// they are logged out.
func Lingers(ctx context.Context) (bool, error) {
	me, err := user.Current()
	if err != nil {
		return false, err
	}
	facts, err := loginctl(ctx, "show-user", me.Uid, "--property=Linger")
	if err != nil {
		return false, err
	}
	if facts["Linger"] == "" {
		return false, errors.New("loginctl doesn't say whether the user lingers")
	}
	return facts["Linger"] == "yes", nil
}

// loginctl gives properties that it shows.
func loginctl(ctx context.Context, args ...string) (map[string]string, error) {
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	cmd, err := installed.Command(ctx, nil, "loginctl", args...)
	if err != nil {
		return nil, err
	}
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			all[name] = value
		}
	}
	return all, nil
}

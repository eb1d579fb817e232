package sandbox

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// explained bounds how much of the end of an output is looked at.
const explained = 16 << 10

// maxPath bounds what is taken for a path; systems take no longer ones.
const maxPath = 4096

// Explain looks at the end of a command's output and says in words what the
// sandbox denied and what can be done, or "". It cannot know that the sandbox was
// the reason: it answers if the policy denies what the output complains of.
func (s *Sandbox) Explain(output string, exitCode int) string {
	if s.encoded == nil || exitCode == 0 {
		return ""
	}
	if len(output) > explained {
		output = output[len(output)-explained:]
	}
	output = complaints(output)
	if output == "" {
		return ""
	}
	known := knownSigns()
	var found []string
	for _, explain := range []func(signs, string) string{s.explainNetwork, s.explainFile, s.explainSystem} {
		if text := explain(known, output); text != "" {
			found = append(found, text)
		}
	}
	return strings.Join(found, "\n")
}

// complaints picks the lines that are worth a closer look, which is a hundred times
// as dear.
func complaints(output string) string {
	var picked []string
	lines := strings.Split(output, "\n")
	for i, line := range strings.Split(strings.ToLower(output), "\n") {
		if len(lines) > i && slices.ContainsFunc(complaintWords, func(word string) bool { return strings.Contains(line, word) }) {
			picked = append(picked, lines[i])
		}
	}
	return strings.Join(picked, "\n")
}

// complaintWords are in lower case. Each sign needs one of them.
var complaintWords = []string{
	"denied", "permitted", "eacces", "eperm", "erofs", "read-only file system", "not implemented", "no new privileges", "effective uid",
	"resolve", "resolution", "service not known", "servname", "no such host", "unknown host", "getaddrinfo", "eai_again", "enotfound",
	"unreachable", "no route to host", "failed to connect", "couldn't connect", "connect to", "403", "forbidden", "burin's sandbox",
}

// signs are what error messages look like.
type signs struct {
	noName, noRoute, proxyRefused, deniedHost *regexp.Regexp // network
	localAddress, unixSocket                  *regexp.Regexp
	noAccess, quotedPath, barePath, anyPath   *regexp.Regexp // files
	systemCall                                *regexp.Regexp
}

// knownSigns compiles them when a command has failed for the first time.
var knownSigns = sync.OnceValue(func() signs {
	r := regexp.MustCompile
	return signs{
		noName: r(`(?i)could not resolve|name or service not known|temporary failure in name resolution|` +
			`no such host|getaddrinfo|eai_again|enotfound|nodename nor servname|unknown host|resolve host`),
		noRoute: r(`(?i)network is unreachable|enetunreach|no route to host|` +
			`(connect|connection|dial|socket|bind)[^\n]{0,120}(permission denied|operation not permitted|eacces|eperm)|` +
			`(permission denied|eacces|operation not permitted)[^\n]{0,80}(connect|socket\b)|failed to connect|couldn't connect`),
		proxyRefused: r(`(?i)burin's sandbox does not allow|` +
			`(proxy|tunnel|connect)[^\n]{0,80}\b403\b|\b403\b[^\n]{0,80}(proxy|tunnel|connect)|proxyconnect[^\n]{0,80}forbidden`),
		deniedHost:   r(`burin's sandbox does not allow (\S+:\d+)`),
		localAddress: r(`(?i)\blocalhost\b|\b127\.\d+\.\d+\.\d+\b|\[::1\]|(^|\s)::1\b`),
		unixSocket:   r(`(?i)docker daemon|dbus|d-bus|\.sock\b|\bunix[ :]|agent connection|authentication agent`),
		noAccess:     r(`(?i)permission denied|read-only file system|operation not permitted|\b(EACCES|EPERM|EROFS)\b`),
		quotedPath:   r("['\"`‘](/[^'\"`’\n]+)['\"`’]"),
		barePath:     r(`(?:^|[\s:=(])(/[^\s:'",;()]+)`),
		anyPath:      r("[^\\s:'\"`‘’,;()]+"),
		systemCall: r(`(?i)\b(ptrace|io_uring|unshare|clone|setns|u?mount|chroot|bpf|perf_event_open|keyctl|userfaultfd)\b` +
			`[^\n]{0,80}(operation not permitted|permission denied|eperm|function not implemented)`),
	}
})

func (s *Sandbox) explainNetwork(known signs, output string) string {
	refused := known.proxyRefused.MatchString(output)
	unreachable := known.noName.MatchString(output) || known.noRoute.MatchString(output)
	switch {
	case refused && s.proxy != nil:
		return s.explainHost(known, output)
	case known.unixSocket.MatchString(output) && known.noRoute.MatchString(output):
		return "The sandbox allows Unix sockets of the command's own programs only, so services such as a container daemon, " +
			"a desktop bus or a key agent are out of reach. Do without them, or ask the user to run this outside the sandbox."
	case s.policy.Network || !unreachable:
		return ""
	case known.localAddress.MatchString(output) && known.noRoute.MatchString(output):
		return "The sandbox denies the network; on this machine only servers that sandboxed commands have started can be reached. " +
			"Start the server in a command, or ask the user to run this outside the sandbox."
	case s.proxy == nil:
		return "The sandbox denies the network. Work with what is on this machine (vendored or cached dependencies), " +
			"or ask the user to allow the host that is needed."
	}
	return "The sandbox denies direct connections: allowed hosts (" + strings.Join(s.policy.Hosts, ", ") + ") are reached through the proxy " +
		"in HTTP_PROXY and HTTPS_PROXY alone. Use a program that honours these variables, or ask the user to allow the host."
}

// explainHost names the host: from the output, else the latest that was denied.
func (s *Sandbox) explainHost(known signs, output string) string {
	name := ""
	if m := known.deniedHost.FindStringSubmatch(output); m != nil {
		name = m[1]
	} else if denied := s.proxy.lastDenied(); len(denied) > 0 {
		name = denied[len(denied)-1]
	}
	if name == "" {
		return "" // a 403 of somebody else
	}
	return fmt.Sprintf("The sandbox does not allow %s. Allowed: %s. Do without it, or ask the user to allow that host.",
		name, strings.Join(s.policy.Hosts, ", "))
}

func (s *Sandbox) explainFile(known signs, output string) string {
	relative := false
	for line := range strings.Lines(output) {
		if !known.noAccess.MatchString(line) || known.noRoute.MatchString(line) {
			continue // the latter is told already
		}
		if text := s.explainWall(known, line); text != "" {
			return text
		}
		paths := pathsIn(known, line)
		relative = relative || len(paths) == 0
		for _, path := range paths {
			if text := s.explainPath(path); text != "" {
				return text
			}
		}
	}
	if relative && s.policy.Mode == ReadOnly {
		return s.readOnlyText("")
	}
	return ""
}

// explainWall looks for a walled file in an error line.
func (s *Sandbox) explainWall(known signs, line string) string {
	for _, m := range known.anyPath.FindAllString(line, 50) {
		name := m
		if !filepath.IsAbs(name) {
			name = filepath.Join(s.policy.Workspace, name)
		}
		if read, write := s.walls.Refuses(filepath.ToSlash(filepath.Clean(name))); read || write {
			return fmt.Sprintf("burin keeps commands from %s: a rule refuses the file, or git or burin would execute what is in it. "+
				"Do without changing or reading it, or ask the user to do that step.", m)
		}
	}
	return ""
}

// pathsIn finds absolute paths in an error line.
func pathsIn(known signs, line string) []string {
	var paths []string
	for _, pattern := range []*regexp.Regexp{known.quotedPath, known.barePath} {
		for _, m := range pattern.FindAllStringSubmatch(line, 8) {
			if len(m[1]) < maxPath {
				paths = append(paths, filepath.Clean(m[1]))
			}
		}
	}
	return paths
}

func (s *Sandbox) explainPath(path string) string {
	path = resolveExisting(path)
	for _, secret := range s.policy.Secret {
		if below(path, secret) && !s.writable(path) && !slices.ContainsFunc(s.policy.Readable, func(open string) bool { return below(path, open) }) {
			return fmt.Sprintf("The sandbox hides %s because it holds secrets. Do without it; the user alone can change that.", secret)
		}
	}
	switch {
	case below(path, "/dev/pts") || below(path, "/dev/ptmx"):
		return "The sandbox keeps terminals other than the command's own out of reach, so new ones cannot be made. " +
			"Run the program without one, or ask the user to run it outside the sandbox."
	case below(path, "/dev") || below(path, "/proc") || below(path, "/sys"):
		return fmt.Sprintf("The sandbox keeps devices, kernel settings and what belongs to processes outside out of reach (%s). "+
			"Do without, or ask the user to run this outside the sandbox.", path)
	case s.writable(path) || !userMayWrite(path):
		return "" // an ordinary refusal of the system
	case s.policy.Mode == ReadOnly:
		return s.readOnlyText(path)
	}
	return fmt.Sprintf("The sandbox does not allow writing %s: commands may write inside %s. "+
		"Write there, or ask the user to make the folder writable.", path, strings.Join(s.writableFolders(), ", "))
}

func (s *Sandbox) readOnlyText(path string) string {
	if path != "" {
		path = " " + path
	}
	return "The sandbox is read-only, so nothing can be written" + path + ", temporary files included. " +
		"Look without writing, or ask the user to allow changes."
}

func (s *Sandbox) writableFolders() []string {
	if s.policy.Mode != WorkspaceWrite {
		return nil
	}
	return append([]string{s.policy.Workspace}, s.policy.Writable...)
}

func (s *Sandbox) writable(path string) bool {
	for _, folder := range s.writableFolders() {
		if below(path, folder) {
			return true
		}
	}
	return false
}

func (s *Sandbox) explainSystem(known signs, output string) string {
	switch m := known.systemCall.FindStringSubmatch(output); {
	case m != nil:
		return fmt.Sprintf("The sandbox denies the system call family of %s (debuggers, namespaces, mounts and the like). "+
			"Do without it, or ask the user to run this outside the sandbox.", strings.ToLower(m[1]))
	case strings.Contains(output, `"no new privileges" flag is set`) || strings.Contains(output, "sudo: effective uid is not 0"):
		return "The sandbox takes away the means of becoming another user (sudo, su). Do without, or ask the user to do that step."
	}
	return ""
}

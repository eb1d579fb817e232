package command

import (
	"slices"
	"strings"
)

// machine judges what works on the machine as a whole.
func machine(c call) string {
	switch c.name {
	case "shutdown", "reboot", "halt", "poweroff", "telinit":
		return "turns this machine off or restarts it"
	case "init":
		if v := c.verb(0); v == "0" || v == "6" {
			return "turns this machine off or restarts it"
		}
	case "systemctl", "loginctl":
		switch c.verb(0) {
		case "poweroff", "reboot", "halt", "kexec", "suspend", "hibernate", "rescue", "emergency":
			return "turns this machine off or restarts it"
		case "stop", "disable", "mask", "kill", "enable", "edit", "set-default":
			return "changes which services run on this machine"
		}
	case "launchctl", "update-rc.d", "chkconfig":
		return "changes which services run on this machine"
	case "dd":
		for _, a := range c.args {
			if to, ok := strings.CutPrefix(a.Text, "of="); ok {
				p := c.part.at.Resolve(c.part.dir, to)
				if !a.Exact || p.Where != Inside && !temporary(p.Name) && !isDevice(to) {
					return "overwrites a device or a file outside of the workspace"
				}
			}
		}
	case "fdisk", "sfdisk", "cfdisk", "gdisk", "sgdisk", "parted", "wipefs", "mkswap", "cryptsetup", "lvremove", "vgremove", "pvremove", "zpool", "zfs", "diskutil", "blkdiscard", "hdparm", "format":
		return "changes disks and what is on them"
	case "mount", "umount":
		if len(c.args) > 0 {
			return "changes which disks are mounted"
		}
	case "kill":
		if slices.ContainsFunc(c.args[min(1, len(c.args)):], func(a Word) bool { return a.Text == "-1" }) || c.verb(0) == "1" {
			return "ends every process that it can reach"
		}
	case "killall5":
		return "ends every process that it can reach"
	case "pkill", "killall", "skill":
		if c.option("-u", "--euid", "-U", "--user") {
			return "ends every process of a user"
		}
	case "crontab":
		if !c.option("-l") || c.option("-r", "-e") {
			return "changes what starts by itself"
		}
	case "at", "batch":
		return "runs something later, when nobody looks"
	case "passwd", "chpasswd", "useradd", "userdel", "usermod", "adduser", "deluser", "groupadd", "groupdel", "visudo", "vipw", "chsh", "dscl":
		return "changes who may use this machine"
	case "iptables", "ip6tables", "nft", "ufw", "firewall-cmd", "pfctl", "setenforce", "csrutil", "spctl":
		return "changes what protects this machine"
	case "insmod", "rmmod", "modprobe", "sysctl", "kextload", "bcdedit", "vssadmin", "reg":
		if c.name != "sysctl" || c.option("-w") || strings.Contains(joined(c.args), "=") {
			return "changes how the system itself works"
		}
	case "su", "pkexec", "runuser", "gosu", "su-exec", "run0":
		return "runs as another user"
	case "history":
		if c.option("-c") {
			return "erases the history of commands"
		}
	}
	if strings.HasPrefix(c.name, "mkfs") || strings.HasPrefix(c.name, "newfs") {
		return "changes disks and what is on them"
	}
	return ""
}

// gitDanger judges what git cannot take back, or does to others.
func gitDanger(c call) string {
	if c.name != "git" {
		return ""
	}
	g := parseGit(c.args)
	sub := call{"git " + g.sub, g.args, c.part}
	switch g.sub {
	case "push":
		if sub.option("-f", "--force", "--force-with-lease", "--force-if-includes", "--mirror", "--prune") {
			return "overwrites what others may have on the server"
		}
		if sub.option("-d", "--delete") {
			return "removes branches or tags on the server"
		}
		for _, a := range sub.operands() {
			if strings.HasPrefix(a.Text, "+") || strings.HasPrefix(a.Text, ":") {
				return "overwrites or removes what others may have on the server"
			}
		}
	case "reset":
		if sub.option("--hard", "--merge", "--keep") {
			return "throws away changes that are not committed"
		}
	case "clean":
		if sub.option("-f", "--force") && !sub.option("-n", "--dry-run") {
			return "removes files that git does not know and cannot bring back"
		}
	case "checkout", "restore", "switch":
		if sub.option("-f", "--force", "--discard-changes") {
			return "throws away changes that are not committed"
		}
		for _, a := range sub.operands() {
			if (a.Text == "." || a.Text == "*" || a.Text == ":/" || a.glob && a.Text == "") && !(g.sub == "restore" && sub.option("-S", "--staged") && !sub.option("-W", "--worktree")) {
				return "throws away changes that are not committed"
			}
		}
	case "stash":
		if v := sub.verb(0); v == "drop" || v == "clear" {
			return "throws away changes that were put aside"
		}
	case "branch":
		if sub.option("-D") || sub.option("-f", "--force") || sub.option("-d", "--delete") && sub.option("-f", "--force") {
			return "removes or moves a branch whose commits may be nowhere else"
		}
	case "tag":
		if sub.option("-d", "--delete", "-f", "--force") {
			return "removes or moves a tag"
		}
	case "update-ref", "symbolic-ref":
		return "moves branches past git's checks"
	case "reflog":
		if v := sub.verb(0); v == "expire" || v == "delete" {
			return "removes the record that brings lost commits back"
		}
	case "gc", "prune":
		if g.sub == "prune" || sub.option("--prune") {
			return "removes commits that nothing else holds"
		}
	case "filter-branch", "filter-repo", "replace":
		return "rewrites the history of the project"
	case "worktree":
		if sub.verb(0) == "remove" && sub.option("-f", "--force") {
			return "removes a folder with changes that are not committed"
		}
	}
	return ""
}

// database judges what throws data away.
func database(c call) string {
	switch versionless(c.name) {
	case "psql", "mysql", "mariadb", "sqlite", "sqlcmd", "cockroach", "clickhouse-client", "duckdb", "cqlsh", "mongo", "mongosh", "snowsql", "bq":
		text := strings.ToUpper(strings.Join(strings.Fields(joined(c.args)), " "))
		for _, bad := range []string{"DROP TABLE", "DROP DATABASE", "DROP SCHEMA", "DROP COLLECTION", "TRUNCATE ", "DELETE FROM", "DROPDATABASE(", ".DROP("} {
			if strings.Contains(text, bad) && (bad != "DELETE FROM" || !strings.Contains(text, " WHERE ")) {
				return "throws data of a database away"
			}
		}
	case "dropdb", "dropuser", "mysqladmin":
		if c.name != "mysqladmin" || c.verb(0) == "drop" {
			return "throws data of a database away"
		}
	case "redis-cli":
		if text := strings.ToUpper(joined(c.args)); strings.Contains(text, "FLUSHALL") || strings.Contains(text, "FLUSHDB") {
			return "throws data of a database away"
		}
	}
	return ""
}

// publication judges what puts something out for everyone.
func publication(c call) string {
	const publishes = "publishes something that cannot be taken back"
	v := c.verb(0)
	switch c.name {
	case "npm", "yarn", "pnpm", "bun", "cargo", "poetry", "uv", "hatch", "flit", "dart", "flutter", "lerna", "vsce", "jsr", "mix":
		second := c.verb(1)
		if v == "publish" || v == "unpublish" || v == "deprecate" || v == "yank" || v == "hex.publish" || v == "npm" && second == "publish" || v == "dist-tag" && second != "ls" || v == "pub" && second == "publish" || v == "owner" {
			return publishes
		}
	case "twine":
		if v == "upload" {
			return publishes
		}
	case "gem":
		if v == "push" || v == "yank" {
			return publishes
		}
	case "mvn", "gradle", "gradlew", "sbt":
		if strings.Contains(" "+joined(c.args)+" ", " deploy ") || strings.Contains(strings.ToLower(joined(c.args)), "publish") {
			return publishes
		}
	case "dotnet", "nuget":
		if v == "push" || v == "nuget" && c.verb(1) == "push" {
			return publishes
		}
	case "gh", "glab":
		if verb := c.verb(1); v != "api" && (verb == "delete" || verb == "archive" || verb == "transfer") || v == "api" && c.option("-X", "--method") {
			return "changes or removes something on the server"
		}
	case "docker", "podman":
		if v == "push" || v == "image" && c.verb(1) == "push" {
			return publishes
		}
	}
	return ""
}

// containers judges what containers may do to the machine, and what removes
// them.
func containers(c call) string {
	switch c.name {
	case "docker", "podman", "nerdctl", "docker-compose":
	default:
		return ""
	}
	v, second := c.verb(0), c.verb(1)
	for i, a := range c.args {
		value := a.Text
		if i > 0 && (c.args[i-1].Text == "-v" || c.args[i-1].Text == "--volume" || c.args[i-1].Text == "--mount") {
			value = "=" + a.Text
		}
		_, value, given := strings.Cut(value, "=")
		if a.Text == "--privileged" || strings.HasPrefix(a.Text, "--cap-add") || given && (value == "host" || strings.HasPrefix(value, "/:") || strings.HasPrefix(value, "/var/run/docker.sock") || strings.Contains(value, "source=/,")) {
			return "gives a container power over this machine"
		}
	}
	switch {
	case second == "prune" || v == "prune":
		return "removes containers, images or data that are not in use"
	case v == "volume" && (second == "rm" || second == "remove"), (v == "down" || second == "down") && c.option("-v", "--volumes"):
		return "removes data of containers"
	}
	return ""
}

// clouds judges what removes or changes things that run elsewhere.
func clouds(c call) string {
	const away = "removes or changes something that runs elsewhere"
	v, second := c.verb(0), c.verb(1)
	removes := func(s string) bool {
		for _, p := range []string{"delete", "destroy", "terminate", "remove", "purge", "drop"} {
			if strings.HasPrefix(s, p) || strings.HasSuffix(s, ":"+p) {
				return true
			}
		}
		return false
	}
	switch c.name {
	case "kubectl", "oc", "k":
		for _, a := range c.args {
			if a.Text == "delete" || a.Text == "drain" || a.Text == "replace" && c.option("--force") {
				return away
			}
		}
	case "helm":
		if v == "uninstall" || v == "delete" || v == "rollback" {
			return away
		}
	case "terraform", "tofu", "terragrunt", "pulumi", "cdk", "cdktf", "sls", "serverless":
		if v == "destroy" || v == "down" || v == "remove" || (v == "apply" || v == "up" || v == "deploy") && c.option("-auto-approve", "--auto-approve", "--yes", "-y") ||
			c.option("-destroy") || v == "state" && (second == "rm" || second == "push") || v == "force-unlock" {
			return away
		}
	case "aws", "gcloud", "az", "doctl", "hcloud", "linode-cli", "flyctl", "fly", "heroku", "vercel", "netlify", "railway", "supabase", "firebase", "wrangler", "gsutil", "rclone", "eksctl", "cf":
		for i := range c.args {
			w := c.args[i].Text
			if removes(w) || (c.name == "aws" || c.name == "gsutil" || c.name == "vercel") && (w == "rm" || w == "rb") || c.name == "rclone" && (w == "sync" || w == "move") {
				return away
			}
		}
	case "ansible", "ansible-playbook":
		return "changes other machines"
	}
	return ""
}

package shell

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// hardening keeps programs from waiting for a person or writing for a screen:
// pagers, editors, prompts, progress bars and colours are off.
var hardening = []string{
	"PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "SYSTEMD_PAGER=cat", "BAT_PAGER=cat", "DELTA_PAGER=cat",
	"GH_PAGER=cat", "GLAB_PAGER=cat", "PSQL_PAGER=cat", "MYSQL_PAGER=cat", "HOMEBREW_PAGER=cat",
	"AWS_PAGER=", "LESS=FRX",
	"TERM=dumb", "GPG_TTY=not a tty", "NO_COLOR=1", "PYTHONUNBUFFERED=1",
	"GIT_EDITOR=true", "VISUAL=true", "EDITOR=true",
	"GIT_TERMINAL_PROMPT=0", "SSH_ASKPASS=/usr/bin/false",
	"npm_config_yes=true", "npm_config_update_notifier=false", "npm_config_fund=false",
	"npm_config_audit=false", "npm_config_progress=false",
	"PNPM_DISABLE_SELF_UPDATE_CHECK=true", "PNPM_UPDATE_NOTIFIER=false",
	"YARN_ENABLE_TELEMETRY=0", "YARN_ENABLE_PROGRESS_BARS=0",
	"CARGO_TERM_PROGRESS_WHEN=never", "DEBIAN_FRONTEND=noninteractive",
	"PIP_NO_INPUT=1", "PIP_DISABLE_PIP_VERSION_CHECK=1",
	"TF_INPUT=0", "TF_IN_AUTOMATION=1", "GH_PROMPT_DISABLED=1", "COMPOSER_NO_INTERACTION=1",
	"CLOUDSDK_CORE_DISABLE_PROMPTS=1",
}

// noCI are the flag variables that keep CI=1 out of the environment. Some test
// runners behave differently under it.
var noCI = []string{"BURIN_BASH_NO_CI", "PI_BASH_NO_CI", "CLAUDE_BASH_NO_CI"}

// shellOwn are variables that would make a shell behave differently from the one
// that a command is written for: start-up files, options, prompts, and what a
// shell computes itself. Bash passes functions on in variables, "BASH_FUNC_f%%".
var shellOwn = []string{
	"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "BASH_FUNC_*", "CDPATH", "GLOBIGNORE", "IFS", "POSIXLY_CORRECT",
	"PS0", "PS1", "PS2", "PS3", "PS4", "PROMPT_COMMAND", "PWD", "OLDPWD", "SHLVL", "_",
}

// environment is what the first shell of a session inherits: the inherited
// variables without credentials and without burin's own, the hardening, and
// Options.Env over it.
func environment(o Options) []string {
	inherited := o.Environ
	if inherited == nil {
		inherited = os.Environ()
	}
	env := map[string]string{}
	ci := true
	for _, v := range inherited {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" { // Windows keeps folders of drives in "=C:"
			continue
		}
		if slices.Contains(noCI, name) && value != "" && value != "0" {
			ci = false
		}
		if !o.inherits(name) {
			continue
		}
		if runtime.GOOS == "windows" && strings.EqualFold(name, "PATH") {
			name, value = "PATH", extendPath(value)
		}
		env[name] = value
	}
	for _, v := range hardening {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	if ci {
		env["CI"] = "1"
	}
	maps.Copy(env, o.Env)
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

// inherits says whether commands get to see an inherited variable.
func (o Options) inherits(name string) bool {
	if strings.HasPrefix(name, "BURIN_") {
		return false
	}
	for _, pattern := range shellOwn {
		if ok, _ := path.Match(pattern, name); ok {
			return false
		}
	}
	return !Credential(name) && !slices.Contains(o.Strip, name)
}

// modelVendors are the first words of variables that hold keys of model providers.
var modelVendors = []string{
	"AIMLAPI", "AI_GATEWAY", "ALIBABA_CODING_PLAN", "ANTHROPIC", "AZURE_OPENAI", "CEREBRAS", "CLAUDE_CODE", "CLOUDFLARE_AI_GATEWAY", "COPILOT",
	"CURSOR", "DEEPSEEK", "EXA", "FIREPASS", "FIREWORKS", "GEMINI", "GOOGLE", "GROQ", "HF", "HUGGINGFACE_HUB", "KILO", "KIMI",
	"LITELLM", "LLAMA_CPP", "LM_STUDIO", "MINIMAX", "MISTRAL", "MOONSHOT", "NANO_GPT", "NVIDIA", "OLLAMA", "OPENAI",
	"OPENCODE", "OPENROUTER", "QIANFAN", "QWEN", "SYNTHETIC", "TOGETHER", "VENICE", "VERCEL_AI_GATEWAY", "VLLM",
	"WAFER", "XAI", "XIAOMI", "ZAI", "ZENMUX", "ZHIPU",
}

// Credential says whether a variable by this name usually holds the key of a model
// provider: one of the known vendors first, and API_KEY or TOKEN last.
//
// Decision: these are what burin itself talks to models with, so a command does
// not inherit them; one that needs a key gets it through Options.Env or its own.
// Keys of anything else (AWS_*, GITHUB_TOKEN, CLOUDFLARE_API_KEY) are for commands,
// and stay.
func Credential(name string) bool {
	if name == "AWS_BEARER_TOKEN_BEDROCK" || name == "CLAUDE_CODE_CLIENT_KEY" {
		return true
	}
	if !strings.HasSuffix(name, "_API_KEY") && !strings.HasSuffix(name, "_TOKEN") {
		return false
	}
	return slices.ContainsFunc(modelVendors, func(v string) bool { return strings.HasPrefix(name, v+"_") })
}

var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

func checkVariable(name, value string) error {
	if !variableName().MatchString(name) {
		return fmt.Errorf("not a name of an environment variable: %q", name)
	}
	if strings.ContainsRune(value, 0) {
		return errors.New("the environment variable " + name + " contains a NUL byte")
	}
	return nil
}

// confinement is what the sandbox wants of a shell.
type confinement struct {
	policy []byte
	env    []string
	box    Sandbox // nil: none
}

func (s *Shells) confinement() confinement {
	s.mu.Lock()
	box := s.box
	s.mu.Unlock()
	if box == nil {
		return confinement{}
	}
	return confinement{policy: box.Encoded(), env: box.Env(), box: box}
}

// SetSandbox puts another confinement to work; nil is none. What runs goes on under
// its own. The next command finds a new persistent shell, in the same folder and with
// the same exported variables.
func (s *Shells) SetSandbox(box Sandbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.box = box
}

// shellEnv is the environment of a shell that continues in st under conf. What the
// sandbox of then had set does not stay.
func (s *Shells) shellEnv(st state, conf confinement) []string {
	env := slices.Clone(st.environ(s.base))
	env = slices.DeleteFunc(env, func(v string) bool { return slices.Contains(st.sandbox, v) })
	return append(env, conf.env...)
}

// clusterpass-credential is `clusterpass credential` for images without Node: an exec credential plugin of client-go
// that gets its identity from a token file. The TypeScript command is its oracle (test/plugin/credential.test.ts): the
// same inputs give the same output, the same errors and the same request. It has no login, and caches nothing.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// version is set by the linker: -ldflags "-X main.version=1.2.3".
var version = "development"

const (
	usageHint = "See 'clusterpass credential --help' for usage."
	execInfo  = "KUBERNETES_EXEC_INFO"
	group     = "client.authentication.k8s.io"
	help      = `Usage: clusterpass-credential [options]
       clusterpass-credential install DIR

Gives client-go a token, as an exec credential plugin. install copies this program into a directory.

Options (variable):
  --cluster <cluster>             Cluster of the account; without it, that of the ClusterProfile
  --as <namespace/name>           Service account (CLUSTERPASS_AS)
  -n, --namespace <namespace>     Namespace of the account
  --service-account <name>        Name of the account
  --as-me                         A pass for the caller, in place of an account
  --group <group>                 With --as-me: the only group of the caller that the pass has
  --pass <handle>                 Redeem a pass. It determines account, audience and duration
  --audience <audience>           Audience of the token, repeatable (CLUSTERPASS_AUDIENCE)
  --duration <duration>           Lifetime of the token (CLUSTERPASS_DURATION)
  -s, --server <URL>              Address of Clusterpass (CLUSTERPASS_SERVER)
  --token-file <file>             File with the bearer token (CLUSTERPASS_TOKEN_FILE)
  --certificate-authority <file>  CA certificates to trust instead of the system's (CLUSTERPASS_CA)
  --product-name <name>           Product name in the server's paths (CLUSTERPASS_PRODUCT_NAME)
  --version, --help
`
)

// failure is an error with the whole text for stderr.
type failure string

func (f failure) Error() string { return string(f) }

func wrong(format string, args ...any) error {
	return failure("error: " + fmt.Sprintf(format, args...))
}

// misuse is the failure of wrong flags, variables or a wrong question of client-go. Its exit code is 2.
type misuse struct{ error }

func misused(format string, args ...any) error { return misuse{wrong(format, args...)} }

func main() {
	args := os.Args[1:]
	// So that settings for the TypeScript program need another command only.
	if len(args) > 0 && args[0] == "credential" {
		args = args[1:]
	}
	output, err := run(args, os.Getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		if _, isMisuse := err.(misuse); isMisuse {
			os.Exit(2)
		}
		os.Exit(1)
	}
	if _, err := io.WriteString(os.Stdout, output); err != nil {
		os.Exit(1)
	}
}

func run(args []string, env func(string) string) (string, error) {
	if len(args) == 2 && args[0] == "install" {
		return "", install(args[1])
	}
	given, err := parseFlags(args)
	if err != nil {
		return "", err
	}
	if given.isSet["--help"] || given.isSet["-h"] {
		return help, nil
	}
	if given.isSet["--version"] {
		return version + "\n", nil
	}
	info, err := readExecInfo(env(execInfo))
	if err != nil {
		return "", err
	}
	wanted, err := wantedToken(given, env, info)
	if err != nil {
		return "", err
	}
	server, err := resolveConnection(given, env)
	if err != nil {
		return "", err
	}
	if wanted.isPass {
		if wanted.codeVerifier, err = codeVerifier(server.server, env); err != nil {
			return "", err
		}
	}
	token, refreshAt, err := server.issue(wanted)
	if err != nil {
		return "", err
	}
	// kubectl requests a new credential only after this time, to the second. So it is the time of the refresh.
	expiry := time.UnixMilli(refreshAt).UTC().Format("2006-01-02T15:04:05Z")
	return `{"kind":"ExecCredential","apiVersion":` + quote(info.apiVersion) + `,"spec":{},"status":{"expirationTimestamp":` +
		quote(expiry) + `,"token":` + quote(token) + "}}\n", nil
}

// install copies this program, for init containers: the image of the plugin has no cp.
func install(directory string) error {
	itself, err := os.Executable()
	if err != nil {
		return wrong("cannot find this program: %s", err)
	}
	program, err := os.ReadFile(itself)
	if err != nil {
		return wrong("%s", err)
	}
	target := filepath.Join(directory, "clusterpass-credential")
	// Renamed when it is whole: a container that is restarted may run the one before.
	unfinished := target + ".unfinished"
	if err = os.WriteFile(unfinished, program, 0o755); err == nil {
		err = os.Rename(unfinished, target)
	}
	if err != nil {
		// Without the operation and the name of the unfinished file.
		return wrong("cannot install into %s: %s", directory, errors.Unwrap(err))
	}
	return nil
}

// valueFlags are the flags with a value, by their spellings, as messages about usage show them.
var valueFlags = map[string]string{
	"--cluster":               "--cluster <cluster>",
	"-n":                      "-n, --namespace <namespace>",
	"--namespace":             "-n, --namespace <namespace>",
	"--service-account":       "--service-account <name>",
	"--as":                    "--as <namespace/name>",
	"--audience":              "--audience <audience>",
	"--duration":              "--duration <duration>",
	"--group":                 "--group <group>",
	"--pass":                  "--pass <handle>",
	"-s":                      "-s, --server <URL>",
	"--server":                "-s, --server <URL>",
	"--token-file":            "--token-file <file>",
	"--certificate-authority": "--certificate-authority <file>",
	"--product-name":          "--product-name <name>",
}

var longNames = map[string]string{"-n": "--namespace", "-s": "--server"}

// switches take no value, or true or false. --no-cache has no effect: with a token file the TypeScript program caches
// nothing either.
var switches = map[string]bool{"--help": true, "-h": true, "--version": true, "--no-cache": true, "--as-me": true}

// unsupported are flags of the TypeScript program that need a login, or a secret that others can read.
var unsupported = map[string]bool{"--login": true, "--token": true, "--insecure-skip-tls-verify": true}

type flags struct {
	// text has the last value of each flag that was given.
	text      map[string]string
	audiences []string
	isSet     map[string]bool
}

// or is the value of a flag if it was given, else that of a variable. An empty variable counts as unset.
func (f flags) or(flag, variable string) (string, bool) {
	if text, ok := f.text[flag]; ok {
		return text, true
	}
	return variable, variable != ""
}

func parseFlags(args []string) (flags, error) {
	found := flags{text: map[string]string{}, isSet: map[string]bool{}}
	var operands []string
	for at := 0; at < len(args); at++ {
		arg := args[at]
		if arg == "--" {
			operands = append(operands, args[at+1:]...)
			break
		}
		if len(arg) < 2 || arg[0] != '-' {
			operands = append(operands, arg)
			continue
		}
		name, value, isAttached := strings.Cut(arg, "=")
		if unsupported[name] {
			return found, misused("%s is not supported by this plugin", name)
		}
		if switches[name] {
			if isAttached && value != "true" && value != "false" {
				return found, misused("%s: %s is neither true nor false\n%s", name, quote(value), usageHint)
			}
			found.isSet[name] = !isAttached || value == "true"
			continue
		}
		if arg[1] != '-' {
			name, value = arg[:2], strings.TrimPrefix(arg[2:], "=")
			isAttached = len(arg) > 2
		}
		usage, isKnown := valueFlags[name]
		if !isKnown {
			if arg[1] != '-' {
				name = arg
			}
			return found, misused("unknown option '%s'\n%s", name, usageHint)
		}
		if !isAttached {
			if at++; at == len(args) {
				return found, misused("option '%s' argument missing\n%s", usage, usageHint)
			}
			value = args[at]
		}
		if long, isShort := longNames[name]; isShort {
			name = long
		}
		found.text[name] = value
		if name == "--audience" {
			found.audiences = append(found.audiences, value)
		}
	}
	if len(operands) > 0 {
		return found, misused("too many arguments for 'credential'. Expected 0 arguments but got %d: %s.\n%s",
			len(operands), strings.Join(operands, ", "), usageHint)
	}
	return found, nil
}

// info is the question of client-go. cluster and server are empty without a ClusterProfile.
type info struct{ apiVersion, cluster, server string }

func readExecInfo(text string) (info, error) {
	if text == "" {
		return info{apiVersion: group + "/v1"}, nil
	}
	question, err := parseJSON([]byte(text))
	if err != nil {
		return info{}, misused(execInfo + " is not JSON")
	}
	apiVersion, isText := member(question, "apiVersion").(string)
	if apiVersion != group+"/v1" && apiVersion != group+"/v1beta1" {
		requested := "no version"
		if isText {
			requested = quote(apiVersion)
		}
		return info{}, misused("%s requests %s; supported are %s/v1 and %s/v1beta1", execInfo, requested, group, group)
	}
	profile := member(member(question, "spec"), "cluster")
	// Of the configuration that a profile carries, only the name of the cluster counts: who can write profiles must not
	// choose the server that this program sends its own credential to, nor the account.
	config, _ := member(profile, "config").(map[string]any)
	value, isSet := config["clusterName"]
	if !isSet {
		return info{apiVersion: apiVersion}, nil
	}
	cluster, _ := value.(string)
	if !isSubdomain(cluster) {
		return info{}, misused(execInfo + ": spec.cluster.config.clusterName is not the name of a cluster")
	}
	server, _ := member(profile, "server").(string)
	if server == "" {
		return info{}, misused(execInfo + ": spec.cluster.server is missing")
	}
	return info{apiVersion, cluster, server}, nil
}

// request is the token that is requested.
type request struct {
	// path is below the base URL. {product} stands for the product name.
	path string
	// forServer is the address that the token will be sent to, if a profile says so.
	forServer string
	// audiences is nil for a pass, which has none.
	audiences []string
	seconds   int64
	// group is nil for all groups of the caller.
	group  *string
	isPass bool
	// codeVerifier is empty if no pass was requested on this machine.
	codeVerifier string
}

var handle = regexp.MustCompile(`^[a-z0-9_]{1,253}$`)

func wantedToken(given flags, env func(string) string, info info) (request, error) {
	pass, isPass := given.text["--pass"]
	if isPass {
		for _, name := range []string{"--as", "--namespace", "--service-account", "--duration", "--audience", "--group"} {
			if _, isOther := given.text[name]; isOther || given.isSet["--as-me"] {
				return request{}, misused("--pass determines account, audience and duration: do not set them")
			}
		}
		if !handle.MatchString(pass) {
			return request{}, misused("--pass: %s is not the handle of a pass", quote(pass))
		}
	}
	cluster, forServer, err := clusterOf(given, info, isPass)
	if err != nil || isPass {
		path := "/apis/clusterpass.dev/v1alpha1/passes/" + pass + "/token"
		return request{path: path, forServer: forServer, isPass: true}, err
	}
	wanted := request{forServer: forServer}
	audiences := given.audiences
	if audience := env("CLUSTERPASS_AUDIENCE"); len(audiences) == 0 && audience != "" {
		audiences = []string{audience}
	}
	if given.isSet["--as-me"] {
		if _, isAccount := given.text["--as"]; isAccount {
			return wanted, misused("set --as or --as-me, not both")
		}
		if len(audiences) > 0 {
			return wanted, misused("--as-me takes no --audience: a pass for a person is for its cluster")
		}
		wanted.path = "/apis/clusterregistry.k8s.io/v1alpha1/clusters/" + cluster + "/userpass"
		if group, isGiven := given.text["--group"]; isGiven {
			wanted.group = &group
		}
	} else {
		if _, isGroup := given.text["--group"]; isGroup {
			return wanted, misused("--group needs --as-me")
		}
		namespace, name, err := accountOf(given, env("CLUSTERPASS_AS"))
		if err != nil {
			return wanted, err
		}
		wanted.path = "/{product}/" + cluster + "/api/v1/namespaces/" + namespace + "/serviceaccounts/" + name + "/token"
		wanted.audiences = append([]string{}, audiences...)
	}
	wanted.seconds, err = durationOf(given, env("CLUSTERPASS_DURATION"))
	return wanted, err
}

// clusterOf also returns the address that the profile has for the cluster. The flag is the consumer's own
// configuration, so it comes before what a profile says.
func clusterOf(given flags, info info, isPass bool) (cluster, forServer string, err error) {
	if cluster = given.text["--cluster"]; cluster != "" {
		if slash := strings.LastIndexByte(cluster, '/'); slash >= 0 {
			return "", "", misused("--cluster: %s is not the name of a cluster: for the cluster %s of another server, "+
				"use --server %s", quote(cluster), quote(cluster[slash+1:]), cluster[:slash])
		}
		if !isSubdomain(cluster) {
			return "", "", misused("--cluster: %s is not the name of a cluster", quote(cluster))
		}
		return cluster, "", nil
	}
	if info.cluster == "" && !isPass {
		return "", "", misused("--cluster is required: " + execInfo + " has no spec.cluster.config.clusterName")
	}
	return info.cluster, info.server, nil
}

func accountOf(given flags, variable string) (namespace, name string, err error) {
	account, source := variable, "CLUSTERPASS_AS"
	namespace, hasNamespace := given.text["--namespace"]
	name, hasName := given.text["--service-account"]
	if as, ok := given.text["--as"]; ok {
		account, source = as, "--as"
	} else if hasNamespace || hasName || variable == "" {
		if namespace == "" || name == "" {
			return "", "", misused("--as (or --namespace and --service-account) is required")
		}
		account, source = namespace+"/"+name, "--namespace and --service-account"
	}
	namespace, name, _ = strings.Cut(account, "/")
	if !isLabel(namespace) || len(namespace) > 63 || !isSubdomain(name) {
		return "", "", misused("%s: %s is not a service account in the form namespace/name", source, quote(account))
	}
	return namespace, name, nil
}

func durationOf(given flags, variable string) (int64, error) {
	source := "CLUSTERPASS_DURATION"
	text, isFlag := given.text["--duration"]
	if isFlag {
		source = "--duration"
	} else if text = variable; text == "" {
		return 0, nil
	}
	if text == "0" || text == "0s" {
		return 0, nil
	}
	duration, err := time.ParseDuration(text)
	if err != nil || duration <= 0 || duration%time.Millisecond != 0 {
		return 0, misused("%s: %s is not a duration such as 10m, 1h30m or 90s", source, quote(text))
	}
	return int64(math.Ceil(duration.Seconds())), nil
}

func isLabel(text string) bool {
	for _, letter := range []byte(text) {
		if (letter < 'a' || letter > 'z') && (letter < '0' || letter > '9') && letter != '-' {
			return false
		}
	}
	return text != "" && text[0] != '-' && text[len(text)-1] != '-'
}

func isSubdomain(text string) bool {
	if len(text) > 253 {
		return false
	}
	for _, label := range strings.Split(text, ".") {
		if !isLabel(label) {
			return false
		}
	}
	return true
}

// parseJSON accepts one value. Numbers stay text: those that no float64 can hold are valid.
func parseJSON(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, failure("more than one value")
	}
	return value, nil
}

// member is nil if value is no object, or has no such member. Unlike a struct's, its names are case-sensitive.
func member(value any, name string) any {
	object, _ := value.(map[string]any)
	return object[name]
}

// quote writes a JSON string as JSON.stringify does: encoding/json escapes more.
func quote(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, letter := range text {
		if at := strings.IndexRune("\"\\\b\f\n\r\t", letter); at >= 0 && letter != utf8.RuneError {
			out.WriteByte('\\')
			out.WriteByte(`"\bfnrt`[at])
		} else if letter < 0x20 {
			fmt.Fprintf(&out, `\u%04x`, letter)
		} else {
			out.WriteRune(letter)
		}
	}
	out.WriteByte('"')
	return out.String()
}

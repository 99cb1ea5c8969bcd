package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf16"
)

const (
	// client-go sets no limit, and holds a lock while the plugin runs.
	timeout          = 10 * time.Second
	maxResponseBytes = 1 << 20
	// Node's limit.
	maxHeaderBytes       = 16 << 10
	maxRetries           = 3
	maxRetryAfterSeconds = 30
	maxQuoted            = 200
)

// connection is Clusterpass, and the identity of the caller there.
type connection struct {
	// server is the base URL without a slash at the end.
	server, tokenFile, productName string
	// authorities is PEM, or empty for the system's.
	authorities string
	// through names the proxy of a request in its errors; empty without one.
	through string
}

func resolveConnection(given flags, env func(string) string) (connection, error) {
	address, ok := given.or("--server", env("CLUSTERPASS_SERVER"))
	if !ok {
		return connection{}, misused("no server: run clusterpass login --server URL, or set --server or CLUSTERPASS_SERVER")
	}
	server, err := serverURL(address)
	if err != nil {
		return connection{}, err
	}
	found := connection{server: server, productName: "orchestrator"}
	if name, ok := given.or("--product-name", env("CLUSTERPASS_PRODUCT_NAME")); ok {
		found.productName = name
	}
	file, hasFile := given.text["--token-file"]
	if !hasFile && isForServer(env("CLUSTERPASS_SERVER"), server) {
		// The TypeScript program would use it, so ignoring it would change the identity.
		if env("CLUSTERPASS_TOKEN") != "" {
			return found, misused("CLUSTERPASS_TOKEN is not supported by this plugin: set CLUSTERPASS_TOKEN_FILE")
		}
		file = env("CLUSTERPASS_TOKEN_FILE")
		hasFile = file != ""
	} else if file == "-" {
		return found, misused("--token-file: stdin is not supported by this plugin")
	}
	if path, ok := given.or("--certificate-authority", env("CLUSTERPASS_CA")); ok {
		text, absolute, err := readGivenFile(path)
		if err != nil {
			return found, err
		}
		if !strings.Contains(text, "-----BEGIN CERTIFICATE-----") {
			return found, wrong("%s contains no PEM certificate", absolute)
		}
		found.authorities = text
	}
	if !hasFile {
		return found, misused("no token: set --token-file or CLUSTERPASS_TOKEN_FILE")
	}
	found.tokenFile = file
	return found, nil
}

// isForServer says whether a token in a variable is for this server: it is for the one in CLUSTERPASS_SERVER, if that
// is set.
func isForServer(own, server string) bool {
	if own == "" {
		return true
	}
	address, err := serverURL(own)
	return err == nil && address == server
}

var (
	scheme   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)
	hostName = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_.])?$`)
	urlPath  = regexp.MustCompile(`^(/[A-Za-z0-9_~!$&'()*+,;=:@-][A-Za-z0-9._~!$&'()*+,;=:@-]*)*/*$`)
)

// serverURL normalizes the address of the server. It refuses what the URL parser of Node would repair.
func serverURL(given string) (string, error) {
	text := given
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	notURL := misused("--server: %s is not a URL", quote(given))
	if !scheme.MatchString(text) {
		return "", notURL
	}
	if protocol, _, _ := strings.Cut(strings.ToLower(text), "://"); protocol != "https" && protocol != "http" {
		return "", misused("--server must be an https URL")
	}
	parsed, err := url.Parse(text)
	if err != nil {
		return "", notURL
	}
	host, ok := normalHost(parsed)
	if !ok {
		return "", notURL
	}
	if parsed.User != nil && parsed.User.String() != "" && parsed.User.String() != ":" {
		return "", misused("--server must not contain credentials")
	}
	if parsed.RawQuery != "" || parsed.Fragment != "" {
		return "", misused("--server must not have a query or a fragment")
	}
	if !urlPath.MatchString(parsed.EscapedPath()) {
		return "", notURL
	}
	server := parsed.Scheme + "://" + host + strings.TrimRight(parsed.EscapedPath(), "/")
	if name := strings.Split(host, ":")[0]; parsed.Scheme == "http" && name != "localhost" &&
		!strings.HasPrefix(host, "[::1]") && !isLoopbackIPv4(name) {
		return "", misused("%s is plain HTTP, which exposes the credential on the network: use https, or allow it with "+
			"--insecure-skip-tls-verify", server)
	}
	return server, nil
}

func isLoopbackIPv4(host string) bool {
	address, err := netip.ParseAddr(host)
	return err == nil && address.Is4() && address.IsLoopback()
}

// normalHost returns host and port in lower case, without the port that the scheme has anyway.
func normalHost(parsed *url.URL) (string, bool) {
	host := strings.ToLower(parsed.Hostname())
	if strings.HasPrefix(parsed.Host, "[") {
		address, err := netip.ParseAddr(host)
		if err != nil || !address.Is6() || address.Is4In6() || address.Zone() != "" {
			return "", false
		}
		host = "[" + address.String() + "]"
	} else if !hostName.MatchString(host) {
		return "", false
	} else if labels := strings.Split(host, "."); labels[len(labels)-1] != "" && unicode.IsDigit(rune(labels[len(labels)-1][0])) {
		// A last label that starts with a digit is part of an IPv4 address.
		if address, err := netip.ParseAddr(host); err != nil || !address.Is4() {
			return "", false
		}
	}
	if parsed.Port() == "" {
		return host, true
	}
	port, err := strconv.ParseUint(parsed.Port(), 10, 16)
	if err != nil {
		return "", false
	}
	if port == map[string]uint64{"https": 443, "http": 80}[parsed.Scheme] {
		return host, true
	}
	return host + ":" + strconv.FormatUint(port, 10), true
}

func readGivenFile(path string) (text, absolute string, err error) {
	absolute, err = filepath.Abs(path)
	if err != nil {
		return "", path, wrong("cannot read %s: %s", path, err)
	}
	content, err := os.ReadFile(absolute)
	if err == nil {
		return string(content), absolute, nil
	}
	problem := err
	var number syscall.Errno
	if errors.As(err, &number) {
		problem = number
	}
	return "", absolute, wrong("cannot read %s: %s", absolute, problem)
}

// readToken reads the file for every request: the kubelet replaces it.
func (c connection) readToken() (string, error) {
	text, _, err := readGivenFile(c.tokenFile)
	if err != nil {
		return "", err
	}
	token := strings.TrimFunc(text, func(letter rune) bool {
		return letter == '\ufeff' || (unicode.IsSpace(letter) && letter != '\u0085')
	})
	for _, letter := range []byte(token) {
		if letter < 0x21 || letter > 0x7e {
			token = ""
			break
		}
	}
	if token == "" {
		return "", wrong("%s is empty or not a bearer token", c.tokenFile)
	}
	return token, nil
}

// machineKey is 256 bits in base64url, as the TypeScript program writes it.
var machineKey = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// codeVerifier is the secret of the passes that were requested on this machine (RFC 7636); empty if there were none.
// It is another one for every server.
func codeVerifier(server string, env func(string) string) (string, error) {
	folder := env("XDG_CONFIG_HOME")
	if !filepath.IsAbs(folder) {
		// Without a home there was no login either.
		if env("HOME") == "" {
			return "", nil
		}
		folder = filepath.Join(env("HOME"), ".config")
	}
	file := filepath.Join(folder, "clusterpass", "machine.key")
	text, err := readPrivate(file)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(text)
	if !machineKey.MatchString(key) {
		return "", wrong("%s is not a key that clusterpass made; remove it and request another pass", file)
	}
	code := hmac.New(sha256.New, []byte(key))
	code.Write([]byte(server))
	return base64.RawURLEncoding.EncodeToString(code.Sum(nil)), nil
}

// readPrivate reads a file that only this user can read. It checks the open file, so that it cannot be replaced between
// the check and the read.
func readPrivate(path string) (string, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", err
	case errors.Is(err, syscall.ELOOP):
		return "", wrong("cannot read %s: is a symbolic link", path)
	case err != nil:
		return "", wrong("cannot read %s: %s", path, errors.Unwrap(err))
	}
	defer file.Close()
	found, err := file.Stat()
	if err != nil {
		return "", wrong("cannot read %s: %s", path, err)
	}
	owner, isUnix := found.Sys().(*syscall.Stat_t)
	switch {
	case !found.Mode().IsRegular():
		return "", wrong("%s is not a regular file", path)
	case isUnix && int(owner.Uid) != os.Geteuid():
		return "", wrong("%s belongs to another user", path)
	case found.Mode().Perm()&0o077 != 0:
		return "", wrong("%s contains secrets and is readable by other users; run: chmod 600 %s", path, path)
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return "", wrong("cannot read %s: %s", path, err)
	}
	return string(content), nil
}

// unreachable is the error for a request without a response.
func (c connection) unreachable(reason string) error {
	return failure("Unable to connect to the server: " + terminalSafe(c.server+" cannot be reached"+c.through+": "+reason))
}

// response is a response that was read to its end.
type response struct {
	status int
	header http.Header
	body   []byte
}

// issue requests a token, and returns it with the time to replace it, in epoch milliseconds.
func (c connection) issue(wanted request) (string, int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	refused, retries := "", 0
	for {
		token, err := c.readToken()
		if err != nil {
			return "", 0, err
		}
		// The same token again would be refused again.
		if token == refused {
			return "", 0, wrong("%s refused the token in %s", c.server, c.tokenFile)
		}
		got, err := c.send(ctx, wanted, token)
		if err != nil {
			return "", 0, err
		}
		printWarnings(got.header)
		if got.status >= 200 && got.status < 300 {
			return c.tokenIn(got)
		}
		if got.status == http.StatusUnauthorized {
			if refused != "" {
				return "", 0, wrong("%s refused the token in %s", c.server, c.tokenFile)
			}
			refused = token
			continue
		}
		delay, ok := retryAfter(got)
		if !ok || retries == maxRetries {
			return "", 0, failure(statusText(got))
		}
		retries++
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return "", 0, c.unreachable("timed out")
		}
	}
}

func (c connection) send(ctx context.Context, wanted request, token string) (response, error) {
	base, err := url.Parse(c.server)
	if err != nil {
		return response{}, c.unreachable(err.Error())
	}
	proxy, err := c.proxyFor(base)
	if err != nil {
		return response{}, err
	}
	if proxy != nil {
		c.through = " through the proxy " + proxy.Host + " of " + proxyVariable()
	}
	transport := &http.Transport{
		Proxy:                  func(*http.Request) (*url.URL, error) { return proxy, nil },
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		DisableCompression:     true,
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
	if c.authorities != "" && strings.HasPrefix(c.server, "https:") {
		transport.TLSClientConfig.RootCAs = poolOf(c.authorities)
	}
	path := strings.Replace(wanted.path, "{product}", c.productName, 1)
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, c.server+path, strings.NewReader(wanted.body()))
	if err != nil {
		return response{}, wrong("--product-name: %s is not part of a path", quote(c.productName))
	}
	post.Header = http.Header{
		"Accept":        {"application/json"},
		"Authorization": {"Bearer " + token},
		"Content-Type":  {"application/json"},
		"User-Agent":    {"clusterpass/" + version},
	}
	// Follows no redirect: one from an attacker on the network would get the token.
	reply, err := transport.RoundTrip(post)
	if err != nil {
		return response{}, c.requestFailed(err)
	}
	defer reply.Body.Close()
	switch reply.StatusCode {
	case 301, 302, 303, 307, 308:
		return response{}, c.redirected(base, reply.Header.Get("Location"))
	}
	body, err := io.ReadAll(io.LimitReader(reply.Body, maxResponseBytes+1))
	if err != nil {
		return response{}, c.requestFailed(err)
	}
	if len(body) > maxResponseBytes {
		return response{}, c.unreachable("the response is too large")
	}
	return response{reply.StatusCode, reply.Header, body}, nil
}

// redirected is the error for a redirect, which is not followed. Only the origin of its target is shown.
func (c connection) redirected(base *url.URL, location string) error {
	c.through = ""
	target, err := base.Parse(location)
	if err != nil || target.Host == "" || (target.Scheme == base.Scheme && target.Host == base.Host) ||
		(target.Scheme != "https" && target.Scheme != "http") {
		return c.unreachable("unexpected redirect")
	}
	return c.unreachable("it redirects to " + target.Scheme + "://" + target.Host +
		"; if that is the server, use that address")
}

// proxyFor is the proxy of the environment, which the controller itself reads the same way. Plain HTTP is for this
// machine only.
func (c connection) proxyFor(base *url.URL) (*url.URL, error) {
	given := os.Getenv(proxyVariable())
	if base.Scheme != "https" || given == "" {
		return nil, nil
	}
	variable := proxyVariable()
	isAddress := isProxyAddress(given)
	if !isAddress {
		// net/http would take the scheme for a host, or connect directly. With another address, it says whether
		// NO_PROXY covers the server.
		if err := os.Setenv("HTTPS_PROXY", "http://proxy.invalid"); err != nil {
			return nil, c.unreachable(err.Error())
		}
	}
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: base})
	if !isAddress && proxy != nil {
		return nil, c.unreachable(variable + " must be the http or https address of a proxy")
	}
	return proxy, err
}

// The groups are the host and the port.
var proxyPattern = regexp.MustCompile(`(?i)^(?:(?:https?|socks5h?)://)?(?:(?:[\w.~!$&'()*+,;=:@-]|%[0-9a-f]{2})*@)?` +
	`([\w.-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?(?:[/?#][^%\\\s]*)?$`)
var numericLabel = regexp.MustCompile(`(?i)(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)\.?$`)

// isProxyAddress has one meaning in Go and in Node, whose parsers of URLs differ.
func isProxyAddress(given string) bool {
	found := proxyPattern.FindStringSubmatch(given)
	if found == nil {
		return false
	}
	if port, err := strconv.Atoi(found[2]); found[2] != "" && (err != nil || port > 65535) {
		return false
	}
	host := strings.Trim(found[1], "[]")
	if host != found[1] || numericLabel.MatchString(host) {
		_, err := netip.ParseAddr(host)
		return err == nil
	}
	return true
}

// proxyVariable is the variable that net/http reads.
func proxyVariable() string {
	if os.Getenv("HTTPS_PROXY") != "" {
		return "HTTPS_PROXY"
	}
	return "https_proxy"
}

// body is a TokenRequest.
func (wanted request) body() string {
	annotations, spec := []string{}, []string{}
	if wanted.audiences != nil {
		audiences := make([]string, len(wanted.audiences))
		for at, audience := range wanted.audiences {
			audiences[at] = quote(audience)
		}
		spec = append(spec, `"audiences":[`+strings.Join(audiences, ",")+`]`)
	}
	if wanted.forServer != "" {
		// Clusterpass issues no token for an address that is not one of the cluster.
		annotations = append(annotations, `"clusterpass.dev/for-server":`+quote(wanted.forServer))
	}
	if wanted.group != nil {
		annotations = append(annotations, `"clusterpass.dev/group":`+quote(*wanted.group))
	}
	if wanted.codeVerifier != "" {
		annotations = append(annotations, `"clusterpass.dev/code-verifier":`+quote(wanted.codeVerifier))
	}
	metadata := ""
	if len(annotations) > 0 {
		metadata = `"metadata":{"annotations":{` + strings.Join(annotations, ",") + `}},`
	}
	if wanted.seconds > 0 {
		spec = append(spec, `"expirationSeconds":`+strconv.FormatInt(wanted.seconds, 10))
	}
	return `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest",` + metadata + `"spec":{` +
		strings.Join(spec, ",") + `}}`
}

// poolOf reads certificates up to the first that is malformed, as Node does.
func poolOf(text string) *x509.CertPool {
	pool := x509.NewCertPool()
	for block, rest := pem.Decode([]byte(text)); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			break
		}
		pool.AddCert(certificate)
	}
	return pool
}

func (c connection) tokenIn(got response) (string, int64, error) {
	value, err := parseJSON(got.body)
	if err != nil {
		text := c.server + " sent a response that is not JSON"
		return "", 0, failure("Unable to connect to the server: " + terminalSafe(text))
	}
	status := member(value, "status")
	token, _ := member(status, "token").(string)
	expiry, _ := member(status, "expirationTimestamp").(string)
	expiration, err := time.Parse(time.RFC3339, expiry)
	if err != nil || token == "" {
		return "", 0, failure("Unable to connect to the server: the response contains no token")
	}
	now := time.Now().UnixMilli()
	issuedAt := now
	if date, err := http.ParseTime(got.header.Get("Date")); err == nil {
		issuedAt = date.UnixMilli()
	}
	// The clock of the server gives the lifetime, the clock of this machine the end of it. A token is replaced after
	// four fifths of its lifetime, at least 30 seconds before its end, and not before the half of it.
	lifetime := float64(expiration.UnixMilli() - issuedAt)
	margin := math.Min(math.Max(lifetime*0.2, 30_000), lifetime*0.5)
	return token, int64(math.Floor(float64(now) + lifetime - margin)), nil
}

// retryAfter is the delay, if the server asks for a retry.
func retryAfter(got response) (time.Duration, bool) {
	values, ok := got.header["Retry-After"]
	if !ok || (got.status != http.StatusTooManyRequests && got.status < 500) {
		return 0, false
	}
	if values[0] == "" {
		return 0, true
	}
	seconds, err := strconv.ParseUint(values[0], 10, 32)
	return time.Duration(seconds) * time.Second, err == nil && seconds <= maxRetryAfterSeconds
}

var (
	warning   = regexp.MustCompile(`(?:^|,)\s*299 \S+ "((?:[^"\\]|\\.)*)"`)
	escaped   = regexp.MustCompile(`\\(.)`)
	unquoted  = regexp.MustCompile(`[^\x20-\x7e]+`)
	malformed = regexp.MustCompile(`malformed|response headers exceeded|invalid byte in chunk length`)
)

func printWarnings(header http.Header) {
	joined := strings.Join(header.Values("Warning"), ", ")
	// Header fields are Latin-1 for Node.
	letters := make([]rune, len(joined))
	for at := range letters {
		letters[at] = rune(joined[at])
	}
	for _, match := range warning.FindAllStringSubmatch(string(letters), -1) {
		os.Stderr.WriteString("Warning: " + terminalSafe(escaped.ReplaceAllString(match[1], "$1")) + "\n")
	}
}

// statusText describes the Status of a response in kubectl's words. Another body, such as a proxy's error page, is
// quoted.
func statusText(got response) string {
	code := strconv.Itoa(got.status)
	value, err := parseJSON(got.body)
	if kind, _ := member(value, "kind").(string); err == nil && kind == "Status" {
		reason, hasReason := member(value, "reason").(string)
		message, hasMessage := member(value, "message").(string)
		if !hasMessage {
			message = "the server answered with " + code
			if hasReason {
				message = reason
			}
		}
		if reason != "" {
			reason = " (" + terminalSafe(reason) + ")"
		}
		// Further lines are indented, so that none looks like another message.
		lines := strings.Split(message, "\n")
		for at, line := range lines {
			lines[at] = terminalSafe(line)
		}
		return "Error from server" + reason + ": " + strings.Join(lines, "\n  ")
	}
	units := utf16.Encode([]rune(string(got.body)))
	if len(units) > maxQuoted {
		units = units[:maxQuoted]
	}
	message := "the server answered with " + code + " and no Status"
	if quoted := strings.Trim(unquoted.ReplaceAllString(string(utf16.Decode(units)), " "), " "); quoted != "" {
		message += ": " + quoted
	}
	return "Error from server: " + message
}

// terminalSafe replaces unprintable characters: others may have written them, to move the cursor or to hide text.
func terminalSafe(text string) string {
	return strings.Map(func(letter rune) rune {
		if unicode.IsPrint(letter) {
			return letter
		}
		return '?'
	}, text)
}

func (c connection) isPlain() bool { return strings.HasPrefix(c.server, "http:") }

// closed is the error for a connection that was closed before the answer. A TLS server closes a plain one.
func (c connection) closed() error {
	if c.isPlain() {
		return failure("Unable to connect to the server: " + c.server + " closed the connection; does it want https://?")
	}
	return c.unreachable("connection reset by peer")
}

// requestFailed gives the same words for the same failure as the TypeScript program.
func (c connection) requestFailed(err error) error {
	var number syscall.Errno
	var timed net.Error
	var unknownHost *net.DNSError
	var untrusted x509.UnknownAuthorityError
	var wrongName x509.HostnameError
	var invalid x509.CertificateInvalidError
	var noTLS tls.RecordHeaderError
	text := err.Error()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return c.unreachable("timed out")
	case errors.As(err, &unknownHost):
		return c.unreachable("its host name is not known")
	case errors.As(err, &timed) && timed.Timeout():
		return c.unreachable("timed out")
	case errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNRESET):
		return c.closed()
	case errors.As(err, &number):
		return c.unreachable(number.Error())
	case errors.As(err, &noTLS):
		// The proxy may be the one that does not speak TLS.
		if c.through != "" {
			return c.unreachable("the answer is not TLS")
		}
		plain := "http" + strings.TrimPrefix(c.server, "https")
		return failure("Unable to connect to the server: " + c.server + " does not speak TLS; did you mean " + plain + "?")
	case errors.As(err, &untrusted):
		return failure(c.unreachable("no trusted authority has signed its certificate").Error() +
			"; if you trust it, pass its CA with --certificate-authority FILE")
	case errors.As(err, &wrongName):
		return c.unreachable("its certificate is for another name")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		if time.Now().Before(invalid.Cert.NotBefore) {
			return c.unreachable("certificate is not yet valid")
		}
		return c.unreachable("its certificate has expired")
	case malformed.MatchString(text):
		if c.isPlain() {
			return failure("Unable to connect to the server: " + c.server + " does not answer in HTTP; does it want https://?")
		}
		return c.unreachable("it does not answer in HTTP")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return c.closed()
	case strings.Contains(text, "tls: "):
		return c.unreachable("TLS failed")
	}
	if c.through != "" {
		return c.unreachable("the proxy refused the connection")
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return c.unreachable(err.Error())
}

package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/Masterminds/sprig"
	"github.com/xeipuuv/gojsonschema"
	"sigs.k8s.io/yaml"
)

// metadata is Chart.yaml, with the names that templates use: .Chart.AppVersion.
type metadata struct {
	APIVersion  string            `json:"apiVersion"`
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Type        string            `json:"type"`
	Version     string            `json:"version"`
	AppVersion  string            `json:"appVersion"`
	KubeVersion string            `json:"kubeVersion"`
	Home        string            `json:"home"`
	Sources     []string          `json:"sources"`
	Keywords    []string          `json:"keywords"`
	Annotations map[string]string `json:"annotations"`
}

type chart struct {
	metadata  metadata
	values    map[string]interface{}
	schema    []byte
	templates map[string]string
	files     files
}

func loadChart(folder string) (*chart, error) {
	loaded := &chart{templates: map[string]string{}, files: files{}}
	err := filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		return loaded.add(filepath.ToSlash(name), data)
	})
	if err != nil {
		return nil, err
	}
	if loaded.metadata.Name == "" || loaded.metadata.Version == "" {
		return nil, errors.New("Chart.yaml: name and version are required")
	}
	return loaded, nil
}

func (c *chart) add(name string, data []byte) error {
	switch {
	case name == "Chart.yaml":
		// Strict: a misspelt field of Chart.yaml is ignored by Helm.
		return yaml.UnmarshalStrict(data, &c.metadata)
	case name == "values.yaml":
		// As in Helm, defaults keep their numbers as text, and values of users become floating-point numbers.
		return yaml.Unmarshal(data, &c.values, func(decoder *json.Decoder) *json.Decoder {
			decoder.UseNumber()
			return decoder
		})
	case name == "values.schema.json":
		c.schema = data
	case strings.HasPrefix(name, "templates/"):
		c.templates[path.Join(c.metadata.Name, name)] = string(data)
	default:
		c.files[name] = data
	}
	return nil
}

// mergeValues lays the texts over the defaults in order. null removes a default.
func mergeValues(defaults map[string]interface{}, texts []string) (map[string]interface{}, error) {
	merged := defaults
	for _, text := range texts {
		over := map[string]interface{}{}
		if err := yaml.Unmarshal([]byte(text), &over); err != nil {
			return nil, fmt.Errorf("failed to parse values: %w", err)
		}
		merged = merge(merged, over)
	}
	return merged, nil
}

func merge(under, over map[string]interface{}) map[string]interface{} {
	merged := map[string]interface{}{}
	for key, value := range under {
		merged[key] = value
	}
	for key, value := range over {
		upper, isMap := value.(map[string]interface{})
		lower, wasMap := merged[key].(map[string]interface{})
		switch {
		case value == nil:
			delete(merged, key)
		case isMap && wasMap:
			merged[key] = merge(lower, upper)
		default:
			merged[key] = value
		}
	}
	return merged
}

// checkSchema has the texts of Helm 3.
func (c *chart) checkSchema(values map[string]interface{}) error {
	if c.schema == nil {
		return errors.New("the chart has no values.schema.json")
	}
	data, err := json.Marshal(values)
	if err != nil {
		return err
	}
	checked, err := gojsonschema.Validate(gojsonschema.NewBytesLoader(c.schema), gojsonschema.NewBytesLoader(data))
	if err != nil {
		return fmt.Errorf("unable to validate schema: %w", err)
	}
	if checked.Valid() {
		return nil
	}
	head := "values don't meet the specifications of the schema(s) in the following chart(s):"
	lines := []string{head, c.metadata.Name + ":"}
	for _, problem := range checked.Errors() {
		lines = append(lines, fmt.Sprintf("- %s", problem))
	}
	return errors.New(strings.Join(lines, "\n"))
}

func (c *chart) checkKubeVersion(version string) error {
	if c.metadata.KubeVersion == "" {
		return nil
	}
	wanted := c.metadata.KubeVersion
	compare := sprig.TxtFuncMap()["semverCompare"].(func(string, string) (bool, error))
	fits, err := compare(wanted, version)
	if err != nil {
		return fmt.Errorf("Chart.yaml: kubeVersion: %w", err)
	}
	if !fits {
		return fmt.Errorf("chart requires kubeVersion: %s which is incompatible with Kubernetes %s", wanted, version)
	}
	return nil
}

// files is .Files: what is in the chart besides templates and values. Patterns are those of path.Match.
type files map[string][]byte

func (f files) Get(name string) string      { return string(f[name]) }
func (f files) GetBytes(name string) []byte { return f[name] }

func (f files) Glob(pattern string) (files, error) {
	found := files{}
	for name, data := range f {
		matches, err := path.Match(pattern, name)
		if err != nil {
			return nil, err
		}
		if matches {
			found[name] = data
		}
	}
	return found, nil
}

func (f files) Lines(name string) []string {
	if len(f[name]) == 0 {
		return []string{}
	}
	return strings.Split(strings.TrimSuffix(string(f[name]), "\n"), "\n")
}

func (f files) AsConfig() string {
	texts := map[string]string{}
	for name, data := range f {
		texts[path.Base(name)] = string(data)
	}
	return toYAML(texts)
}

func (f files) AsSecrets() string {
	texts := map[string]string{}
	for name, data := range f {
		texts[path.Base(name)] = base64.StdEncoding.EncodeToString(data)
	}
	return toYAML(texts)
}

// kubeVersion is .Capabilities.KubeVersion.
type kubeVersion struct{ Version, Major, Minor string }

func (v kubeVersion) String() string     { return v.Version }
func (v kubeVersion) GitVersion() string { return v.Version }

type apiVersions []string

func (v apiVersions) Has(wanted string) bool {
	for _, one := range v {
		if one == wanted {
			return true
		}
	}
	return false
}

type capabilities struct {
	KubeVersion kubeVersion
	APIVersions apiVersions
	HelmVersion struct{ Version string }
}

var kubeVersionText = regexp.MustCompile(`^v(\d+)\.(\d+)\.\d+`)

func newCapabilities(version string, served []string) (*capabilities, error) {
	parts := kubeVersionText.FindStringSubmatch(version)
	if parts == nil {
		return nil, fmt.Errorf("kubeVersion %q: expected a version such as v1.33.0", version)
	}
	found := &capabilities{
		KubeVersion: kubeVersion{Version: version, Major: parts[1], Minor: parts[2]},
		APIVersions: append(apiVersions{"v1", "apps/v1", "policy/v1", "networking.k8s.io/v1"}, served...),
	}
	found.HelmVersion.Version = "v3.17.3"
	return found, nil
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

type engine struct {
	chart   *chart
	objects []map[string]interface{}
}

func newEngine(loaded *chart, objects []map[string]interface{}) *engine {
	return &engine{chart: loaded, objects: objects}
}

// render executes all templates but partials. NOTES.txt is not a manifest.
func (e *engine) render(context map[string]interface{}) (result, error) {
	parsed, err := e.parse()
	if err != nil {
		return result{}, err
	}
	rendered := result{Manifests: map[string]string{}}
	for _, name := range e.names() {
		if strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		text, err := execute(parsed, name, context)
		if err != nil {
			return result{}, err
		}
		short := strings.TrimPrefix(name, e.chart.metadata.Name+"/")
		if path.Base(name) == "NOTES.txt" {
			rendered.Notes = text
		} else if strings.TrimSpace(text) != "" {
			rendered.Manifests[short] = text
		}
	}
	return rendered, nil
}

func (e *engine) names() []string {
	names := make([]string, 0, len(e.chart.templates))
	for name := range e.chart.templates {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func (e *engine) parse() (*template.Template, error) {
	root := template.New("gotpl").Option("missingkey=zero")
	root.Funcs(e.functions(root))
	for _, name := range e.names() {
		if _, err := root.New(name).Parse(e.chart.templates[name]); err != nil {
			return nil, fmt.Errorf("parse error: %w", err)
		}
	}
	return root, nil
}

func execute(parsed *template.Template, name string, data interface{}) (string, error) {
	var text strings.Builder
	if err := parsed.ExecuteTemplate(&text, name, data); err != nil {
		return "", fmt.Errorf("execution error: %w", err)
	}
	// missingkey=zero still writes this for a missing value of type interface{}; Helm removes it.
	return strings.ReplaceAll(text.String(), "<no value>", ""), nil
}

// functions are sprig's without access to the environment, and Helm's.
func (e *engine) functions(root *template.Template) template.FuncMap {
	functions := sprig.TxtFuncMap()
	delete(functions, "env")
	delete(functions, "expandenv")

	functions["include"] = func(name string, data interface{}) (string, error) {
		var text strings.Builder
		err := root.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	functions["tpl"] = func(text string, data interface{}) (string, error) {
		cloned, err := root.Clone()
		if err != nil {
			return "", err
		}
		// include must find what the text defines itself.
		cloned.Funcs(e.functions(cloned))
		if _, err := cloned.New("tpl").Parse(text); err != nil {
			return "", fmt.Errorf("cannot parse template %q: %w", text, err)
		}
		return execute(cloned, "tpl", data)
	}
	functions["required"] = func(message string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return nil, errors.New(message)
		}
		return value, nil
	}
	functions["fail"] = func(message string) (string, error) { return "", errors.New(message) }
	functions["lookup"] = e.lookup
	functions["toYaml"] = toYAML
	functions["fromYaml"] = fromYAML
	functions["toJson"] = func(value interface{}) string {
		data, err := json.Marshal(value)
		if err != nil {
			return ""
		}
		return string(data)
	}
	return functions
}

// lookup returns an object, or an empty map if there is none.
func (e *engine) lookup(apiVersion, kind, namespace, name string) map[string]interface{} {
	for _, object := range e.objects {
		about, _ := object["metadata"].(map[string]interface{})
		isKind := object["apiVersion"] == apiVersion && object["kind"] == kind
		if isKind && about["namespace"] == namespace && about["name"] == name {
			return object
		}
	}
	return map[string]interface{}{}
}

// toYAML is empty for what cannot be written, as in Helm.
func toYAML(value interface{}) string {
	data, err := yaml.Marshal(value)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(data), "\n")
}

// fromYAML returns an error under the key Error, as in Helm.
func fromYAML(text string) map[string]interface{} {
	found := map[string]interface{}{}
	if err := yaml.Unmarshal([]byte(text), &found); err != nil {
		return map[string]interface{}{"Error": err.Error()}
	}
	return found
}

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { go, goEnvironment } from '../../scripts/programs.mjs';
import { describeWith } from '../describe-with.ts';
import { buildRenderer, type Rendered, type RenderOptions, render, SOURCES } from '../helm/render-chart.ts';

/** The renderer must do what Helm does: otherwise the tests of the chart prove nothing. */
describeWith(go, 'the renderer of charts', () => {
  let folder: string;
  beforeAll(() => {
    buildRenderer();
    folder = mkdtempSync(join(tmpdir(), 'clusterpass-chart-'));
  }, 600_000);

  /** Renders a chart with one template, and a partial that writes `<name>`. */
  function renderText(
    text: string,
    options: RenderOptions & { readonly files?: Record<string, string> } = {},
  ): Rendered {
    const { files = {}, ...rest } = options;
    const chart = mkdtempSync(join(folder, 'chart-'));
    const all = {
      'Chart.yaml': 'apiVersion: v2\nname: sample\nversion: 1.2.3\nappVersion: "4.5"\n',
      'values.yaml': 'count: 3\nnested: { a: 1, b: 2 }\n',
      'values.schema.json': '{ "properties": { "count": { "type": "integer" } } }',
      'templates/_partial.tpl': '{{ define "sample.name" }}<{{ . }}>{{ end }}',
      'templates/text.yaml': text,
      ...files,
    };
    for (const [name, content] of Object.entries(all)) {
      mkdirSync(dirname(join(chart, name)), { recursive: true });
      writeFileSync(join(chart, name), content);
    }
    return render({ chart, ...rest });
  }
  const textOf = (...args: Parameters<typeof renderText>): string | undefined =>
    renderText(...args).manifests?.['templates/text.yaml'];

  it.each([
    ['include', '{{ include "sample.name" "x" | upper }}', '<X>'],
    ['tpl, with include and values', '{{ tpl "{{ include \\"sample.name\\" .Values.count }}" . }}', '<3>'],
    [
      'tpl defines a template and includes it',
      '{{ tpl "{{ define \\"t\\" }}t{{ end }}{{ include \\"t\\" . }}" . }}',
      't',
    ],
    ['toYaml', '{{ toYaml .Values.nested }}', 'a: 1\nb: 2'],
    ['toYaml of a large number', '{{ toYaml (dict "x" 1000000.0) }}', 'x: 1000000'],
    ['fromYaml', '{{ (fromYaml "a: { b: [1, 2] }").a.b | last }}', '2'],
    ['fromYaml of no map', '{{ (fromYaml "- a").Error | contains "cannot unmarshal" }}', 'true'],
    ['fromYamlArray', '{{ fromYamlArray "[a, b]" | join "," }}', 'a,b'],
    ['toJson, fromJson', '{{ (toJson .Values.nested | fromJson).b }}', '2'],
    ['required', '{{ required "missing" .Values.count }}', '3'],
    ['lookup without a cluster', '{{ lookup "v1" "Secret" "ns" "name" | toJson }}', '{}'],
    ['sprig', '{{ list "b" "a" | sortAlpha | join "-" | b64enc }}', 'YS1i'],
    [
      '.Release',
      '{{ .Release.Name }} {{ .Release.Namespace }} {{ .Release.Service }} {{ .Release.IsInstall }}',
      'clusterpass clusterpass Helm true',
    ],
    ['.Chart', '{{ .Chart.Name }} {{ .Chart.Version }} {{ .Chart.AppVersion }}', 'sample 1.2.3 4.5'],
    [
      '.Capabilities',
      '{{ .Capabilities.KubeVersion }} {{ .Capabilities.KubeVersion.Minor }} {{ .Capabilities.APIVersions.Has "apps/v1" }}',
      'v1.30.0 30 true',
    ],
    ['.Template', '{{ .Template.Name }} {{ .Template.BasePath }}', 'sample/templates/text.yaml sample/templates'],
    ['a missing value is empty', 'x{{ .Values.none }}y', 'xy'],
  ])('%s', (_, text, expected) => {
    expect(textOf(text)).toBe(expected);
  });

  it('.Files', () => {
    const files = { 'conf/a.txt': 'one\ntwo\n', 'conf/b.txt': 'b' };
    expect(textOf('{{ .Files.Get "conf/a.txt" }}', { files })).toBe('one\ntwo\n');
    expect(textOf('{{ range .Files.Lines "conf/a.txt" }}[{{ . }}]{{ end }}', { files })).toBe('[one][two]');
    expect(textOf('{{ (.Files.Glob "conf/*").AsConfig }}', { files })).toBe('a.txt: |\n  one\n  two\nb.txt: b');
    expect(textOf('{{ (.Files.Glob "conf/b*").AsSecrets }}', { files })).toBe('b.txt: Yg==');
    expect(textOf('{{ .Files.Get "values.yaml" }}none', { files })).toBe('none');
  });

  it('lookup finds one object, or all of a kind', () => {
    const secret = (name: string, namespace: string) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace },
    });
    const objects = [secret('a', 'one'), secret('b', 'one'), secret('a', 'two')];
    expect(textOf('{{ (lookup "v1" "Secret" "two" "a").metadata.namespace }}', { objects })).toBe('two');
    expect(textOf('{{ len (lookup "v1" "Secret" "one" "").items }}', { objects })).toBe('2');
    expect(textOf('{{ lookup "v1" "ConfigMap" "one" "a" | len }}', { objects })).toBe('0');
  });

  it('later values win, maps are merged, and null removes a default', () => {
    const values = ['count: 5\nnested: { a: 7 }', 'nested: { b: null, c: 8 }'];
    expect(textOf('{{ .Values.count }} {{ toJson .Values.nested }}', { values })).toBe('5 {"a":7,"c":8}');
  });

  it('empty templates are no manifests, and NOTES.txt is none', () => {
    const { manifests, notes } = renderText('{{ if false }}x{{ end }}\n', {
      files: { 'templates/NOTES.txt': 'Hello {{ .Release.Name }}' },
    });
    expect([manifests, notes]).toEqual([undefined, 'Hello clusterpass']);
  });

  it.each([
    ['required', '{{ required "name: is needed" .Values.none }}', 'name: is needed'],
    ['required of an empty text', '{{ required "name: is needed" "" }}', 'name: is needed'],
    ['fail', '{{ fail "not like this" }}', 'not like this'],
    ['env', '{{ env "HOME" }}', 'function "env" not defined'],
    ['an unknown template', '{{ include "nothing" . }}', 'no template "nothing"'],
    ['a syntax error', '{{ if }}', 'missing value for if'],
    [
      'endless recursion',
      '{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}',
      'nested reference name: x',
    ],
  ])('%s ends with its message', (_, text, message) => {
    expect(renderText(text).error).toContain(message);
  });

  it('the schema is checked first, unless it is skipped', () => {
    const values = ['count: many'];
    expect(renderText('{{ fail "rendered" }}', { values }).error).toBe(
      "values don't meet the specifications of the schema(s) in the following chart(s):\nsample:\n" +
        '- count: Invalid type. Expected: integer, given: string',
    );
    expect(textOf('{{ .Values.count }}', { values, skipSchema: true })).toBe('many');
  });

  it('is formatted by gofmt, and vet finds nothing', () => {
    const env = goEnvironment();
    const gofmt = join(env.GOROOT, 'bin/gofmt');
    expect(execFileSync(gofmt, ['-l', SOURCES], { encoding: 'utf8' })).toBe('');
    execFileSync(go.path, ['vet', '.'], { cwd: SOURCES, env, stdio: 'pipe' });
  });
});

import { expect, it } from 'vitest';
import { commandLine } from './command-line.ts';

it.each([
  ['get clusters -o=name', 'get clusters --output name'],
  ['get cluster -wo=name', 'get cluster --watch --output name'],
  ['get clusters -woname', 'get clusters --watch --output name'],
  ['get clusters -l=a=b', 'get clusters --selector a=b'],
  ['get clusters --watch --watch=false', 'get clusters'],
  ['get clusters --no-headers=true x', 'get clusters --no-headers x'],
  ['get clusters -w=1', 'get clusters --watch'],
  ['-s=https://x get --token t clusters n', 'get clusters --server https://x --token t n'],
  ['--insecure-skip-tls-verify whoami', 'whoami --insecure-skip-tls-verify'],
  ['who-can -q=x', 'who-can -q=x'],
  ['kubectl --cluster=a get pods -n x --server=y', 'kubectl --cluster a -- get pods -n x --server=y'],
  // A value may look like a flag.
  ['credential --cluster -o=name --as -w', 'credential --cluster -o=name --as -w'],
  ['get clusters -- -o=name', 'get clusters -- -o=name'],
  // exec: the flags of the command follow `--`.
  ['exec --all -- kubectl get pods -o json', 'exec --all -- kubectl get pods -o json'],
  ['exec --all --as ci/builder kubectl version', 'exec --all --as ci/builder kubectl version'],
  // Not in the table of commands: left to commander.
  ['get clusters -x=1 --bad=2', 'get clusters -x=1 --bad=2'],
  ['get clusters -wh', 'get clusters --watch -h'],
  ['serve --demo=true -o=x', 'serve --demo=true -o=x'],
  ['--server x --help', '--server x --help'],
  ['--version', '--version'],
  ['constructor', 'constructor'],
  ['get cluster/a cluster/b -o=name', 'get cluster cluster/a cluster/b --output name'],
  ['describe Clusters.clusterregistry.k8s.io/a', 'describe clusters Clusters.clusterregistry.k8s.io/a'],
  ['get pods/x', 'get pods/x'],
  ['get', 'get'],
])('%s: %s', (given, expected) => {
  expect(commandLine(given.split(' '))).toEqual(expected.split(' '));
});

it('refuses a switch that is neither true nor false', () => {
  expect(() => commandLine(['get', 'clusters', '--watch=maybe'])).toThrow('invalid argument "maybe" for "-w, --watch"');
});

// `--all` after the command would select clusters, though it was meant for kubectl.
it.each([
  'exec --as-me kubectl get nodes -o json',
  'exec --as-me kubectl delete pods --all',
  'exec kubectl -n ci -- get',
])('%s: the command belongs behind --', (given) => {
  expect(() => commandLine(given.split(' '))).toThrow(
    /^the command and its flags go behind --, as in: clusterpass exec \[flags\] -- kubectl/,
  );
});

it('accepts an empty value', () => {
  expect(commandLine(['get', 'clusters', '-o='])).toEqual(['get', 'clusters', '--output', '']);
});

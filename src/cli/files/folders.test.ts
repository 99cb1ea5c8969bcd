import { expect, it } from 'vitest';
import { configFolder, kubeconfigFile } from './folders.ts';

it('follows XDG and KUBECONFIG', () => {
  expect(configFolder({ HOME: '/h' })).toBe('/h/.config/clusterpass');
  expect(configFolder({ HOME: '/h', XDG_CONFIG_HOME: '/c' })).toBe('/c/clusterpass');
  expect(configFolder({ HOME: '/h', XDG_CONFIG_HOME: 'relative' })).toBe('/h/.config/clusterpass');
  expect(kubeconfigFile({ HOME: '/h' })).toBe('/h/.kube/config');
  expect(kubeconfigFile({ HOME: '/h', KUBECONFIG: ':/a:/b' })).toBe('/a');
});

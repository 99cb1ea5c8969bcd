import { conditionIn, type ImportSource, skipped } from './import-source.ts';

/** CP-90: Clusters of Cluster API. */
export const capi: ImportSource = {
  group: 'cluster.x-k8s.io',
  resource: 'clusters',
  versions: ['v1beta2', 'v1beta1'],
  isNamespaced: true,
  translate: async (object, settings) => {
    const { controlPlaneEndpoint: endpoint } = (object.spec ?? {}) as {
      controlPlaneEndpoint?: { host?: string; port?: number };
    };
    const { initialization, controlPlaneReady } = (object.status ?? {}) as {
      initialization?: { controlPlaneInitialized?: boolean };
      controlPlaneReady?: boolean;
    };
    if (!endpoint?.host || !endpoint.port) return skipped('spec.controlPlaneEndpoint is not set yet');
    if (initialization?.controlPlaneInitialized !== true && controlPlaneReady !== true) {
      return skipped('its control plane is not initialized yet');
    }
    const host = endpoint.host.includes(':') ? `[${endpoint.host}]` : endpoint.host;
    const address = `https://${host}:${endpoint.port}`;
    const health = conditionIn(object, 'ControlPlaneAvailable', 'Available');
    if (settings.withoutCa) return { addresses: [address], health };
    const kubeconfig = await settings.readKubeconfig(object);
    if ('problem' in kubeconfig) return kubeconfig;
    const { server, caBundle } = kubeconfig;
    const isSame = sameAddress(server, address);
    return {
      addresses: [isSame ? address : server],
      caBundle,
      health,
      warning: isSame
        ? undefined
        : `its kubeconfig has the address ${server} and spec.controlPlaneEndpoint ${address}; the first is used`,
    };
  },
};

const sameAddress = (a: string, b: string): boolean =>
  URL.canParse(a) && URL.canParse(b) && new URL(a).href === new URL(b).href;

/**
 * What may be agreed on, best first: what is authenticated as it is encrypted, with keys that nobody can tell afterwards. In the
 * order in which Go's servers have them, kube-apiserver among them: with 128 bits a long answer costs a tenth less than with
 * the 256 that Node puts first, and nobody breaks either.
 */
export const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  // TLS 1.2
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');

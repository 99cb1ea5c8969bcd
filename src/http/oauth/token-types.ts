/** RFC 8693 section 3. */
const TYPE = 'urn:ietf:params:oauth:token-type:';
export const ACCESS_TOKEN = `${TYPE}access_token`;
export const ID_TOKEN = `${TYPE}id_token`;
export const JWT = `${TYPE}jwt`;

export const PROTOCOL_VERSION = "2.4";

/** What /config.js has asked for already, with the stored session, while the page's code was on its way. */
interface FirstCall {
  /** Name of the function. */
  call: string
  /** With which token. */
  token: string
  reply: Promise<Response>
}

declare global {
  var HARBORLINE_FIRST_CALL: FirstCall | undefined
}

/** The reply to this very request if it was asked for already. Each is used once. */
function takeReply(input: RequestInfo | URL, init: RequestInit | undefined): Promise<Response> | null {
  const first = globalThis.HARBORLINE_FIRST_CALL
  if (!first || typeof input !== 'string' || !input.endsWith(`/rest/v1/rpc/${first.call}`)) return null
  if (init?.body !== '{}' || new Headers(init.headers).get('authorization') !== `Bearer ${first.token}`)
    return null
  globalThis.HARBORLINE_FIRST_CALL = undefined
  return first.reply
}

/** `fetch`, but what has been asked for already is not asked again. */
export const fetchOnce: typeof fetch = async (input, init) => {
  // Without a reply it is an ordinary request, with its own error.
  const early = await takeReply(input, init)?.catch(() => null)
  return early ?? fetch(input, init)
}

// What runs before the first paint; web_config.py calls it with the configuration.
;((config) => {
  const root = document.documentElement
  const { platform } = config
  globalThis.HARBORLINE_CONFIG = config

  // The page must never flash in the other theme.
  let choice = 'system'
  try {
    choice = localStorage.getItem('theme') ?? 'system'
  } catch {
    // Storage is closed to this page; the system's theme serves.
  }
  const dark = choice === 'dark' || (choice !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
  root.classList.toggle('dark', dark)

  // What the settings say, into the page as it is read: nothing is drawn first and moved later.
  root.toggleAttribute('data-demo', platform?.demo === true)
  if (platform) {
    const { name, address } = platform.operator
    const texts = {
      product: platform.product_name,
      operator: name && `Operator: ${address ? `${name}, ${address}` : name}`,
    }
    const fill = () => {
      // Also what was filled: the page may have been read up to the middle of a place, whose own words come after.
      for (const place of document.querySelectorAll('[data-setting]')) {
        const text = texts[place.dataset.setting]
        if (text && place.textContent !== text) place.textContent = text
      }
    }
    const reading = new MutationObserver(fill)
    reading.observe(root, { characterData: true, childList: true, subtree: true })
    addEventListener('DOMContentLoaded', () => {
      fill()
      reading.disconnect()
    })
  }

  // The page's first question, beside the code that will use the reply (web/src/lib/first-call.ts).
  const { call, realm } = document.currentScript.dataset
  const token = call && tokenOf(realm)
  if (token) {
    const url = `${config.supabaseUrl}/rest/v1/rpc/${call}`
    const headers = {
      apikey: config.supabaseKey,
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
    }
    const reply = fetch(url, { method: 'POST', headers, body: '{}' })
    reply.catch(() => null)
    globalThis.HARBORLINE_FIRST_CALL = { call, token, reply }
  }

  /** The token of the session that this browser keeps, unless it is about to end. */
  function tokenOf(kind) {
    try {
      const admin = kind === 'administrator'
      const host = new URL(config.supabaseUrl || location.origin).hostname.split('.')[0]
      const kept = JSON.parse(localStorage.getItem(admin ? 'harborline-admin-session' : `sb-${host}-auth-token`))
      const ends = admin ? Date.parse(kept.expires_at) : kept.expires_at * 1000
      return ends > Date.now() + 10_000 ? kept.access_token : null
    } catch {
      return null
    }
  }

  // Until the code is here a button does nothing and a form must not be sent by the browser: kept are what was ticked,
  // once however often it was pressed, and the last other press; each by its name, as the page may be drawn anew.
  const kept = new Map()
  let last = null
  const keep = (event) => {
    const button = event.target.closest?.('button')
    if (event.type === 'submit') event.preventDefault()
    else if (button) {
      if (button.role !== 'checkbox') {
        kept.delete(last)
        last = button
      }
      kept.set(button, nameOf(button))
    }
  }
  addEventListener('click', keep, true)
  addEventListener('submit', keep, true)

  // Code that does not arrive, or not for long: words and a way to try again, never a page that only looks alive.
  const say = () => document.getElementById('load-failed')?.removeAttribute('hidden')
  const fail = (event) => {
    if (event.target.localName === 'script') say()
  }
  addEventListener('error', fail, true)
  const patience = setTimeout(say, 10_000)

  globalThis.HARBORLINE_READY = () => {
    removeEventListener('click', keep, true)
    removeEventListener('submit', keep, true)
    removeEventListener('error', fail, true)
    root.setAttribute('data-ready', '')
    clearTimeout(patience)
    document.getElementById('load-failed')?.setAttribute('hidden', '')
    for (const [pressed, name] of kept) {
      // Where the page was drawn anew, the button of the same name.
      const drawn = () => [...document.querySelectorAll('button')].find((button) => nameOf(button) === name)
      const button = pressed.isConnected ? pressed : drawn()
      button?.click()
    }
  }

  function nameOf(button) {
    return button.ariaLabel ?? (button.textContent || button.labels[0]?.textContent)
  }
})

import { StrictMode, useEffect, type ReactNode } from 'react'
import { flushSync } from 'react-dom'
import { createRoot, hydrateRoot } from 'react-dom/client'
import './app/styles.css'
import { App } from './app/app'
import { guardFrozenPage } from './app/frozen-page'
import { queryClient } from './app/query-client'
import { StartupFault } from './app/startup-fault'
import { adminKey } from './lib/admin-overview'
import { administratorSession } from './lib/administrator-session'
import { arrival } from './lib/arrival'
import { readConfig } from './lib/config'
import { partingWord } from './lib/parting-word'
import { paths } from './lib/paths'
import { isPlainVisit } from './lib/plain-visit'
import { builtInPlatform, platformQuery } from './lib/platform'
import { referral } from './lib/referral'
import { memberSession } from './lib/session'
import './lib/theme'
import { typedBefore } from './lib/typed-before'

function fault(): string | null {
  try {
    readConfig()
    return null
  } catch (error) {
    console.error(error)
    return error instanceof Error ? error.message : String(error)
  }
}

/** Once the page is alive: what the settings say in place of what the page was built with. */
function Alive({ children }: { children: ReactNode }) {
  useEffect(() => {
    const { platform } = readConfig()
    if (platform) queryClient.setQueryData(platformQuery.queryKey, platform)
    else void queryClient.invalidateQueries({ queryKey: platformQuery.queryKey })
    typedBefore.end()
    partingWord.show()
    globalThis.HARBORLINE_READY?.()
  }, [])
  return children
}

/** What one administrator loaded is dropped before any page draws for the next: another tab may change the session. */
function followAdministrators(): void {
  let before = administratorSession.get()?.admin.id
  administratorSession.subscribe(() => {
    const now = administratorSession.get()?.admin.id
    if (now !== before) queryClient.removeQueries({ queryKey: [adminKey] })
    before = now
  })
}

/** The landing page is a document of its own, which loads no router; all other pages are one app. */
async function open() {
  if (location.pathname === paths.home) return (await import('./app/landing')).openLanding()
  return (await import('./app/router')).openRouter()
}

/** A mail link that was refused arrives with an error in the fragment, on whatever page it was meant for. */
function leadOn(): void {
  const kind = location.pathname === paths.resetPassword ? '?kind=recovery' : ''
  location.replace(paths.linkExpired + kind)
}

/** Keeps the referral code of whatever page the visitor was sent to. */
function keepReferral(): void {
  const code = new URLSearchParams(location.search).get('ref')?.trim()
  if (code) referral.meet(code)
}

async function start(root: HTMLElement): Promise<void> {
  keepReferral()
  const { platform } = readConfig()
  const plain = isPlainVisit()
  // A page that was built is brought to life with what it was built with.
  const known = plain ? { ...builtInPlatform, demo: platform?.demo ?? builtInPlatform.demo } : platform
  if (known) queryClient.setQueryData(platformQuery.queryKey, known)
  memberSession.startIfStored()
  followAdministrators()
  guardFrozenPage()
  const opened = await open()
  const app = (
    <StrictMode>
      <Alive>
        <App {...opened} />
      </Alive>
    </StrictMode>
  )
  if (plain) {
    hydrateRoot(root, app)
    return
  }
  const drawn = createRoot(root)
  typedBefore.keep(root)
  // At once, so that nothing is typed between.
  flushSync(() => drawn.render(app))
  typedBefore.focus(root)
}

const root = document.getElementById('root')
if (root) {
  const message = fault()
  if (message) createRoot(root).render(<StartupFault message={message} />)
  else if (arrival.error) leadOn()
  else
    start(root).catch((error: unknown) => {
      console.error(error)
      document.getElementById('load-failed')?.removeAttribute('hidden')
    })
}

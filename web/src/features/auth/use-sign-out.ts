import { useState } from 'react'
import { partingWord } from '@/lib/parting-word'
import { paths } from '@/lib/paths'
import { memberSession } from '@/lib/session'
import { signOut } from './api'

const patience = 10_000

async function withinPatience(work: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('Sign out timeout')), patience)
  })
  try {
    await Promise.race([work, limit])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Signs out within ten seconds. Whatever the server says, this browser forgets the session and the person
 * leaves the members' side.
 */
export function useSignOut() {
  const [busy, setBusy] = useState(false)

  async function run(): Promise<void> {
    setBusy(true)
    memberSession.leave()
    try {
      await withinPatience(signOut())
      partingWord.success('Signed out successfully!')
    } catch (error) {
      console.error(error)
      partingWord.error((error instanceof Error && error.message) || 'Sign out completed')
    }
    location.assign(paths.home)
    memberSession.forget()
  }

  return { signOut: run, busy }
}

import { useEffect } from 'react'
import type { UseFormReturn } from 'react-hook-form'
import { storedInTab } from '@/lib/stored'
import type { SignUpValues } from './sign-up-schema'

const key = 'sign-up-draft'
/** Never the password. */
const fields = ['displayName', 'username', 'email'] as const

type Draft = Partial<Record<(typeof fields)[number] | 'referral', string>>

function read(): Draft {
  try {
    return (JSON.parse(storedInTab.get(key) ?? '{}') ?? {}) as Draft
  } catch {
    return {}
  }
}

/** What is typed survives a reload of this tab, until the account is there. */
export function useSignUpDraft(form: UseFormReturn<SignUpValues>): void {
  useEffect(() => {
    const draft = read()
    for (const name of fields) {
      const text = draft[name]
      if (typeof text === 'string' && text && !form.getFieldState(name).isDirty)
        form.setValue(name, text, { shouldDirty: true })
    }
    const watching = form.watch((values) => {
      const draft: Draft = Object.fromEntries(fields.map((name) => [name, values[name]]))
      // As typed; the code of a link is kept elsewhere.
      if (form.getFieldState('referral').isDirty) draft.referral = values.referral
      storedInTab.set(key, JSON.stringify(draft))
    })
    return () => watching.unsubscribe()
  }, [form])
}

/** The referral code as it was typed, right or wrong. */
export function typedCode(): string {
  const { referral } = read()
  return typeof referral === 'string' ? referral : ''
}

export function dropSignUpDraft(): void {
  storedInTab.remove(key)
}

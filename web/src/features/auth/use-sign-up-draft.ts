import { useEffect } from 'react'
import type { UseFormReturn } from 'react-hook-form'
import { storedInTab } from '@/lib/stored'
import type { SignUpValues } from './sign-up-schema'

const key = 'sign-up-draft'
/** Never the password; a referral code is kept elsewhere, once it is known to exist. */
const fields = ['displayName', 'username', 'email'] as const

type Draft = Partial<Record<(typeof fields)[number], string>>

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
      if (typeof text === 'string' && text && !form.getValues(name))
        form.setValue(name, text, { shouldDirty: true })
    }
    const watching = form.watch((values) => {
      storedInTab.set(key, JSON.stringify(Object.fromEntries(fields.map((name) => [name, values[name]]))))
    })
    return () => watching.unsubscribe()
  }, [form])
}

export function dropSignUpDraft(): void {
  storedInTab.remove(key)
}

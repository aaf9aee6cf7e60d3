import { useState } from 'react'
import { Field } from '@/components/field'
import { Button } from '@/components/ui/button'
import { Input } from '@/components/ui/input'
import { codeRefusal } from '@/lib/code-refusal'
import { Refusal } from '@/lib/errors'

const digits = 6

interface CodeFormProps {
  confirmLabel: string
  destructive?: boolean
  /** Rejects when the code was not taken. */
  onCode: (code: string) => Promise<unknown>
  onCancel: () => void
}

/** Six digits of an authenticator; a wrong one is said under the field and can be typed again. */
export function CodeForm({ confirmLabel, destructive = false, onCode, onCancel }: CodeFormProps) {
  const [code, setCode] = useState('')
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string | null>(null)

  async function send() {
    if (code.length !== digits) {
      setProblem('Enter the six digits that your device shows now.')
      return
    }
    setBusy(true)
    setProblem(null)
    try {
      await onCode(code)
    } catch (error) {
      setProblem(codeRefusal(error))
      if (error instanceof Refusal && error.speaks) setCode('')
    } finally {
      setBusy(false)
    }
  }

  return (
    <form
      noValidate
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
    >
      <Field label="Six-digit code" error={problem}>
        {(control) => (
          <Input
            {...control}
            inputMode="numeric"
            autoComplete="one-time-code"
            className="tabular max-w-44 font-mono text-section tracking-[0.3em] md:text-section"
            value={code}
            onChange={(event) => {
              setProblem(null)
              setCode(event.target.value.replaceAll(/\D/g, '').slice(0, digits))
            }}
          />
        )}
      </Field>
      <div className="flex flex-wrap gap-3">
        <Button type="submit" variant={destructive ? 'destructive' : 'default'} busy={busy && 'Checking...'}>
          {confirmLabel}
        </Button>
        <Button variant="outline" onClick={onCancel}>
          Cancel
        </Button>
      </div>
    </form>
  )
}

import { useState } from 'react'
import { CodeInput, codeLength } from '@/components/code-input'
import { Button } from '@/components/ui/button'
import { codeRefusal } from '@/lib/code-refusal'

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
    if (code.length !== codeLength) {
      setProblem('Enter the six digits that your device shows now.')
      return
    }
    setBusy(true)
    setProblem(null)
    try {
      await onCode(code)
    } catch (error) {
      setProblem(codeRefusal(error))
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
      <CodeInput
        value={code}
        error={problem}
        onChange={(next) => {
          setProblem(null)
          setCode(next)
        }}
      />
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

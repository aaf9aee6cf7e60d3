import { useState } from 'react'
import { z } from '@/lib/zod'
import { AuthenticatorSecret } from '@/components/authenticator-secret'
import { CodeForm } from '@/components/code-form'
import { TextField, useAppForm } from '@/components/form'
import { Notice } from '@/components/notice'
import { Button } from '@/components/ui/button'
import { errorText } from '@/lib/errors'
import { useProductName } from '@/lib/platform'
import { isCancelled } from '@/lib/proof'
import { toasts } from '@/lib/toast-queue'
import { useAbandon, useEnroll, useVerify, type Enrollment } from './api'

interface EnrollDeviceProps {
  /** Names in use; each device needs its own. */
  taken: string[]
  /** The secret is shown next, in the place of the name. */
  onNamed: () => void
  onDone: () => void
}

/** Names the device, then shows what it must hold, then asks for its first code. */
export function EnrollDevice({ taken, onNamed, onDone }: EnrollDeviceProps) {
  const [enrollment, setEnrollment] = useState<Enrollment | null>(null)
  const abandon = useAbandon()
  if (!enrollment)
    return (
      <NameDevice
        taken={taken}
        onNamed={(next) => {
          setEnrollment(next)
          onNamed()
        }}
        onCancel={onDone}
      />
    )
  return (
    <Scan
      enrollment={enrollment}
      onDone={onDone}
      onCancel={() => {
        abandon.mutate(enrollment.id)
        onDone()
      }}
    />
  )
}

interface NameDeviceProps {
  taken: string[]
  onNamed: (enrollment: Enrollment) => void
  onCancel: () => void
}

function NameDevice({ taken, onNamed, onCancel }: NameDeviceProps) {
  const issuer = useProductName()
  const enroll = useEnroll()
  const schema = z.object({
    name: z
      .string()
      .trim()
      .min(1, 'Name the device, such as "My phone"')
      .max(40, 'Use at most 40 characters')
      .refine((name) => !taken.includes(name), 'You already have a device with this name'),
  })
  const form = useAppForm<{ name: string }>(schema, { name: '' })

  async function begin({ name }: { name: string }) {
    try {
      onNamed(await enroll.mutateAsync({ name, issuer }))
    } catch (error) {
      if (isCancelled(error)) return
      form.setError('name', { message: errorText(error, 'The device could not be added. Please try again.') })
    }
  }

  return (
    <form
      noValidate
      aria-label="New device"
      className="flex flex-col gap-4"
      onSubmit={(event) => void form.handleSubmit(begin)(event)}
    >
      <TextField
        form={form}
        name="name"
        label="Device name"
        hint="A name you'll recognize, such as My phone."
        autoComplete="off"
      />
      <Notice tone="info">
        Setting up signs out your other devices. For 24 hours after that withdrawals can be requested, but are
        not approved.
      </Notice>
      <div className="flex flex-wrap gap-3">
        <Button type="submit" busy={enroll.isPending && 'Preparing...'}>
          Continue
        </Button>
        <Button variant="outline" onClick={onCancel}>
          Cancel
        </Button>
      </div>
    </form>
  )
}

interface ScanProps {
  enrollment: Enrollment
  onDone: () => void
  onCancel: () => void
}

function Scan({ enrollment, onDone, onCancel }: ScanProps) {
  const verify = useVerify()
  return (
    <div className="flex flex-col gap-4">
      <AuthenticatorSecret uri={enrollment.uri} secret={enrollment.secret} />
      <CodeForm
        confirmLabel="Turn on"
        onCancel={onCancel}
        onCode={async (code) => {
          await verify.mutateAsync({ factorId: enrollment.id, code })
          toasts.success('Two-step sign-in is on', {
            description: 'Add a second device: there are no recovery codes.',
          })
          onDone()
        }}
      />
    </div>
  )
}

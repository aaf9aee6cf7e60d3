import { useState } from 'react'
import { ErrorLine, Field } from '@/components/field'
import { Button } from '@/components/ui/button'
import { Textarea } from '@/components/ui/input'
import { errorText } from '@/lib/errors'
import { toasts } from '@/lib/toast-queue'
import { useUpdateMember, type MemberDetails } from './admin-api'

const limit = 4000

/** What administrators note about a member; the member never reads it. */
export function NotesForm({ member }: { member: MemberDetails }) {
  const update = useUpdateMember()
  const kept = member.admin_notes ?? ''
  const [notes, setNotes] = useState(kept)
  const [problem, setProblem] = useState<string | null>(null)

  async function save() {
    setProblem(null)
    try {
      await update.mutateAsync({ profileId: member.id, admin_notes: notes })
      toasts.success('Notes saved')
    } catch (error) {
      setProblem(errorText(error, 'The notes could not be saved.'))
    }
  }

  return (
    <form
      noValidate
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault()
        void save()
      }}
    >
      <Field label="Notes" hint="Administrators only.">
        {(control) => (
          <Textarea
            {...control}
            value={notes}
            maxLength={limit}
            onChange={(event) => setNotes(event.target.value)}
          />
        )}
      </Field>
      {problem ? <ErrorLine>{problem}</ErrorLine> : null}
      <Button
        type="submit"
        variant="outline"
        size="compact"
        className="self-start"
        aria-disabled={notes === kept}
        busy={update.isPending && 'Saving...'}
      >
        Save notes
      </Button>
    </form>
  )
}

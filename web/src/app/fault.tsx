import { EmptyState } from '@/components/empty-state'
import { SupportLink } from '@/components/support-link'
import { Button } from '@/components/ui/button'

const texts = {
  network: {
    title: 'No connection',
    text: 'This page could not be loaded. It opens by itself when your connection is back.',
    action: 'Try again',
  },
  page: {
    title: 'This page could not be shown',
    text: 'Something went wrong on this page. Reload; if it happens again, contact support.',
    action: 'Reload',
  },
}

/** In the place of a page that broke, or whose code did not arrive: `away` while the site cannot be reached. */
export function Fault({ away = false }: { away?: boolean }) {
  const { title, text, action } = texts[away ? 'network' : 'page']
  return (
    <div role="alert" className="page-gutter mx-auto max-w-xl py-16">
      <EmptyState
        drawing="lamp"
        title={title}
        text={text}
        action={
          <>
            <Button variant="outline" onClick={() => location.reload()}>
              {action}
            </Button>
            {away ? null : <SupportLink />}
          </>
        }
      />
    </div>
  )
}

import { useState, type ReactNode } from "react"
import { Route, Switch, useLocation } from "wouter"
import { Button } from "../../components/button.tsx"
import { PageHeader } from "../../components/page-header.tsx"
import styles from "./look-up.module.css"
import { PostView } from "./post-view.tsx"
import { RecentPosts } from "./recent-posts.tsx"
import { UserPosts } from "./user-posts.tsx"

/** Stored posts: the newest, one post, and the posts of a user. */
export default function PostsPage(): ReactNode {
  return (
    <>
      <PageHeader title="Posts" actions={<LookUp />}>
        Stored posts, and the rules of this app that matched them.
      </PageHeader>
      <Switch>
        <Route path="/users/:id">{({ id }) => <UserPosts key={id} id={id} />}</Route>
        <Route path="/:id">{({ id }) => <PostView key={id} id={id} />}</Route>
        <Route>
          <RecentPosts />
        </Route>
      </Switch>
    </>
  )
}

/** Goes to a post or a user by id. */
function LookUp(): ReactNode {
  const [id, setId] = useState("")
  const [, navigate] = useLocation()
  const isId = /^\d{1,19}$/.test(id.trim())
  return (
    <form
      className={styles["lookUp"]}
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        if (isId) navigate(`/${id.trim()}`)
      }}
    >
      <input
        value={id}
        inputMode="numeric"
        aria-label="Id of a post or a user"
        placeholder="Id of a post or a user"
        autoComplete="off"
        onChange={({ target }) => setId(target.value)}
      />
      <Button type="submit" disabled={!isId}>
        Post
      </Button>
      <Button disabled={!isId} onClick={() => navigate(`/users/${id.trim()}`)}>
        User
      </Button>
    </form>
  )
}

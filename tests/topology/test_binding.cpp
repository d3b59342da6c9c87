// Binding of the calling thread: when it is done, when it is refused, and when the thread is left alone.
#include <errno.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstdlib>
#include <iostream>
#include <thread>

#include "topology/binding.hpp"
#include "topology/layout.hpp"

namespace copse::topology {
namespace {

CpuSet mask_now() {
  cpu_set_t mask;
  CpuSet cpus;
  EXPECT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) cpus.push_back(cpu);
  }
  return cpus;
}

void confine_to(unsigned cpu) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(cpu, &mask);
  ASSERT_EQ(sched_setaffinity(0, sizeof mask, &mask), 0);
}

// Makes sched_setaffinity fail with EPERM for the calling thread, as some containers do.
void forbid_binding() {
  sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_setaffinity, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{sizeof filter / sizeof filter[0], filter};
  ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

// Masks belong to threads, so each test runs in a thread of its own. Needs two cores that this process may use.
template <class Body>
void in_a_thread(Body body) {
  std::thread(body).join();
}

class BindingHere : public testing::Test {
 protected:
  void SetUp() override {
    if (machine_.cores().size() < 2) GTEST_SKIP() << "this machine has one core";
    if (mask_now().size() < machine_.processors().size()) GTEST_SKIP() << "this process is already confined";
  }

  Machine machine_ = Machine::discover();
};

TEST_F(BindingHere, BindsToACore) {
  in_a_thread([&] {
    const Binding binding = bind_this_thread(machine_, BindingPolicy::core, 1, 2);
    EXPECT_TRUE(binding.bound) << binding.explanation;
    EXPECT_EQ(mask_now(), processors_for(machine_, BindingPolicy::core, 1, 2));
    EXPECT_EQ(binding.place, machine_.place_of(mask_now()));
    EXPECT_EQ(current_place(machine_), binding.place);
    EXPECT_NE(binding.place.at(Level::core), kNotConfined);
    EXPECT_EQ(binding.explanation.rfind("bound to processor", 0), 0U) << binding.explanation;
  });
}

// This runs in a separate process. In this one, a mask that Copse has set elsewhere would count as Copse's.
TEST_F(BindingHere, LeavesAThreadThatSomebodyConfined) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const unsigned cpu = machine_.cores().back().back();
  EXPECT_EXIT(
      {
        confine_to(cpu);
        const Binding binding = bind_this_thread(machine_, BindingPolicy::core, 0, 2);
        std::cerr << binding.explanation << ", on core " << binding.place.at(Level::core);
        std::exit(!binding.bound && mask_now() == CpuSet{cpu} ? 0 : 1);
      },
      testing::ExitedWithCode(0),
      "^not bound: already confined to processor " + std::to_string(cpu) + ", on core " +
          std::to_string(machine_.cores().size() - 1) + "$");
}

TEST_F(BindingHere, IsNotMisledByAMaskInheritedFromABoundRank) {
  in_a_thread([&] {
    ASSERT_TRUE(bind_this_thread(machine_, BindingPolicy::core, 0, 2).bound);
    in_a_thread([&] {
      const Binding binding = bind_this_thread(machine_, BindingPolicy::core, 1, 2);
      EXPECT_TRUE(binding.bound) << binding.explanation;
      EXPECT_EQ(mask_now(), processors_for(machine_, BindingPolicy::core, 1, 2));
    });
  });
}

TEST_F(BindingHere, SurvivesARefusal) {
  in_a_thread([&] {
    const CpuSet before = mask_now();
    forbid_binding();
    const Binding binding = bind_this_thread(machine_, BindingPolicy::core, 0, 2);
    EXPECT_FALSE(binding.bound);
    EXPECT_NE(binding.explanation.find("Operation not permitted"), std::string::npos) << binding.explanation;
    EXPECT_EQ(mask_now(), before);
  });
}

TEST_F(BindingHere, DoesNothingByPolicyNoneOrOnADescribedMachine) {
  in_a_thread([&] {
    const CpuSet before = mask_now();
    EXPECT_EQ(bind_this_thread(machine_, BindingPolicy::none, 0, 2).explanation, "not bound: the policy is none");
    const Machine ig = Machine::from("ig");
    const Binding pretended = bind_this_thread(ig, BindingPolicy::numa, 3, 4);
    EXPECT_FALSE(pretended.bound);
    EXPECT_EQ(pretended.place.at(Level::numa), 6) << "it still says where the rank would be";
    EXPECT_EQ(mask_now(), before);
  });
}

TEST_F(BindingHere, AWholeRegionNeedsNoBindingIfThereIsOnlyOne) {
  EXPECT_EQ(needless_here(BindingPolicy::core), "");
  EXPECT_EQ(needless_here(BindingPolicy::none), "the policy is none");
  if (machine_.regions().size() > 1) {
    EXPECT_EQ(needless_here(BindingPolicy::numa), "");
    GTEST_SKIP() << "this machine has several regions; topology_guest looks at such machines";
  }
  EXPECT_EQ(needless_here(BindingPolicy::numa), "there is only one NUMA region");
  in_a_thread([&] {
    EXPECT_EQ(bind_this_thread(machine_, BindingPolicy::numa, 0, 2).explanation, "not bound: there is only one NUMA region");
  });
}

TEST(Binding, SpreadsRanksOverRegions) {
  const Machine machine = Machine::from("magny-cours");
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(processors_for(machine, BindingPolicy::numa, rank, 4), machine.processors_in(Level::numa, 2 * rank));
  }
  EXPECT_EQ(processors_for(machine, BindingPolicy::core, 3, 32), CpuSet{3});
  EXPECT_EQ(processors_for(machine, BindingPolicy::none, 3, 32).size(), 32U);
}

TEST(Binding, ParsesItsPolicies) {
  EXPECT_EQ(binding_policy_from("none", "x"), BindingPolicy::none);
  EXPECT_EQ(binding_policy_from("numa", "x"), BindingPolicy::numa);
  EXPECT_EQ(binding_policy_from("core", "x"), BindingPolicy::core);
  try {
    static_cast<void>(binding_policy_from("socket", "--bind"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "--bind: 'socket' is not a binding policy; expected none, numa or core; unset it for the default, numa");
  }
}

}  // namespace
}  // namespace copse::topology
